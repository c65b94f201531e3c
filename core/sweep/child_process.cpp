#include <core/sweep/child_process.h>

#include <core/io/file_error.h>

#include <drift/error.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

namespace drift {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::filesystem::path& output) {
  std::vector<std::string> arguments = command;
  const std::vector<char*> argv = pointers_to(arguments);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (out < 0) {
    const int error_number = errno;
    if (nothing >= 0) ::close(nothing);
    throw_file_error("write", output, error_number);
  }
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {  // from here on, only what is safe between fork and exec
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(128 + SIGTERM);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const int error_number = errno;
  ::close(nothing);
  ::close(out);
  if (process_ < 0)
    throw Error("cannot start another process: " + std::string(std::strerror(error_number)), "fewer --jobs may help");
}

ChildProcess::~ChildProcess() {
  if (status()) return;
  send(SIGTERM);
  int raw = 0;
  ::waitpid(process_, &raw, 0);
}

void ChildProcess::send(int signal) const {
  if (!status_) ::kill(process_, signal);
}

std::optional<int> ChildProcess::status() {
  int raw = 0;
  if (!status_ && ::waitpid(process_, &raw, WNOHANG) == process_)
    status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  return status_;
}

ChildWatch::ChildWatch() {
  sigemptyset(&child_ended_);
  sigaddset(&child_ended_, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_ended_, &previous_);
}

ChildWatch::~ChildWatch() { ::sigprocmask(SIG_SETMASK, &previous_, nullptr); }

void ChildWatch::wait(double seconds) const {
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>(1e9 * (seconds - std::floor(seconds)));
  ::sigtimedwait(&child_ended_, nullptr, &time);
}

}  // namespace drift
