#include <core/base/child_process.h>

#include <drift/error.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace drift {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));  // execve promises not to write
  result.push_back(nullptr);
  return result;
}

struct Actions {
  Actions() { posix_spawn_file_actions_init(&value); }
  ~Actions() { posix_spawn_file_actions_destroy(&value); }
  posix_spawn_file_actions_t value;
};

struct Attributes {
  Attributes() {
    posix_spawnattr_init(&value);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&value, &none);
    posix_spawnattr_setsigdefault(&value, &all);
    posix_spawnattr_setflags(&value, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  posix_spawnattr_t value;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view variable = *one;
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    if (std::ranges::none_of(variables, [&](const std::string& set) { return set.starts_with(name); }))
      all.emplace_back(variable);
  }
  return all;
}

ChildProcess::ChildProcess(const ChildCommand& command) : end_signal_(command.end_signal) {
  const std::string& program = command.arguments.at(0);
  std::vector<std::string> environment = command.environment;
  if (command.ends_with_parent) environment.push_back("DRIFT_PARENT=" + std::to_string(::getpid()));
  int error = 0;
  const auto check = [&](int result) { error = error == 0 ? result : error; };
  Actions actions;
  int last = STDERR_FILENO;
  for (const auto& [here, there] : command.descriptors) {
    check(posix_spawn_file_actions_adddup2(&actions.value, here, there));
    last = std::max(last, there);
  }
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (std::ranges::count(command.descriptors, standard, &std::pair<int, int>::second) == 0)
      check(posix_spawn_file_actions_addopen(&actions.value, standard, "/dev/null",
                                             standard == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0));
  }
  check(posix_spawn_file_actions_addclosefrom_np(&actions.value, last + 1));
  if (!command.folder.empty()) check(posix_spawn_file_actions_addchdir_np(&actions.value, command.folder.c_str()));
  const Attributes attributes;
  if (error == 0)
    error = posix_spawn(&id_, program.c_str(), &actions.value, &attributes.value, pointers(command.arguments).data(),
                        pointers(environment).data());
  if (error != 0) throw_system_error("cannot start " + program, error);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(end_signal_, other.end_signal_);
  std::swap(end_, other.end_);
  return *this;
}

ChildProcess::~ChildProcess() {
  send(end_signal_);
  wait();
}

void ChildProcess::send(int signal) const {
  if (id_ > 0 && !end_) ::kill(-id_, signal);
}

void ChildProcess::wait_with(int options) {
  if (id_ <= 0 || end_) return;
  int status = 0;
  rusage usage{};
  pid_t waited = -1;
  while ((waited = ::wait4(id_, &status, options, &usage)) < 0 && errno == EINTR) {
  }
  if (waited != id_) return;
  end_ = {WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

const ChildEnd& ChildProcess::wait() {
  wait_with(0);
  return end_ ? *end_ : end_.emplace();
}

const std::optional<ChildEnd>& ChildProcess::end() {
  wait_with(WNOHANG);
  return end_;
}

CommandOutput run(ChildCommand command) {
  const Descriptor output = memory_file(), error = memory_file();
  command.descriptors.emplace_back(output.get(), STDOUT_FILENO);
  command.descriptors.emplace_back(error.get(), STDERR_FILENO);
  const ChildEnd end = ChildProcess(command).wait();
  return {end, contents_of(output), contents_of(error)};
}

std::string output_of(const ChildCommand& command) {
  CommandOutput result = run(command);
  if (result.end.status() == 0) return std::move(result.output);
  result.error.erase(result.error.find_last_not_of(" \n") + 1);
  throw Error(command.arguments[0] + " failed: " + result.error);
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
      return std::isalnum(c) != 0 ||
             std::string_view("_@%+=:,./-").find(static_cast<char>(c)) != std::string_view::npos;
    });
    command += command.empty() ? "" : " ";
    if (plain) {
      command += word;
      continue;
    }
    command += '\'';
    for (const char c : word) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command += '\'';
  }
  return command;
}

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

// By number: the C library of Debian 12 has these, in a header that C++ cannot use.
Descriptor open_process(pid_t id) {
  const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, id, 0));
  return handle < 0 ? Descriptor() : Descriptor(handle, "a process");
}

void kill_process(const Descriptor& process) { ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0); }

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
