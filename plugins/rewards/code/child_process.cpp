#include "child_process.h"

#include <drift/error.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <system_error>

namespace drift::code {
namespace {

constexpr int kFirstOwnDescriptor = 10;

[[noreturn]] void fail(const std::string& what, int error) {
  throw drift::Error(what + ": " + std::generic_category().message(error),
                     error == EMFILE || error == ENFILE ? "raise the limit of open files (ulimit -n)" : "");
}

void check(int error, const std::string& what) {
  if (error != 0) fail(what, error);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));  // execve promises not to write
  result.push_back(nullptr);
  return result;
}

struct Actions {
  Actions() { check(posix_spawn_file_actions_init(&value), "cannot prepare a process"); }
  ~Actions() { posix_spawn_file_actions_destroy(&value); }
  posix_spawn_file_actions_t value;
};

struct Attributes {
  Attributes() {
    check(posix_spawnattr_init(&value), "cannot prepare a process");
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

}  // namespace

Descriptor::Descriptor(int number, const char* what) : number_(number) {
  if (number < 0) fail(std::string("cannot open ") + what, errno);
  if (number >= kFirstOwnDescriptor) return;
  number_ = ::fcntl(number, F_DUPFD_CLOEXEC, kFirstOwnDescriptor);
  const int error = errno;
  ::close(number);
  if (number_ < 0) fail(std::string("cannot open ") + what, error);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("cannot open a pipe", errno);
  Pipe pipe;
  try {
    pipe.read = Descriptor(ends[0], "a pipe");
  } catch (...) {
    ::close(ends[1]);
    throw;
  }
  pipe.write = Descriptor(ends[1], "a pipe");
  return pipe;
}

Descriptor memory_file() {
  return Descriptor(::memfd_create("drift", MFD_CLOEXEC | MFD_ALLOW_SEALING), "a file in memory");
}

Descriptor sealed_file(const std::string& contents) {
  Descriptor file = memory_file();
  for (std::size_t done = 0; done < contents.size();) {
    const ssize_t written = ::write(file.get(), contents.data() + done, contents.size() - done);
    if (written < 0 && errno != EINTR) fail("cannot write a file in memory", errno);
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    fail("cannot seal a file in memory", errno);
  }
  return file;
}

std::string contents_of(const Descriptor& file) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::pread(file.get(), buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

void set_nonblocking(const Descriptor& descriptor) {
  const int flags = ::fcntl(descriptor.get(), F_GETFL);
  if (flags < 0 || ::fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK) != 0) fail("cannot set up a pipe", errno);
}

pid_t spawn(const Command& command) {
  const std::string what = "cannot start " + command.arguments.at(0);
  Actions actions;
  for (int standard = 0; standard <= 2; ++standard) {
    check(
        posix_spawn_file_actions_addopen(&actions.value, standard, "/dev/null", standard == 0 ? O_RDONLY : O_WRONLY, 0),
        what);
  }
  int last = 2;
  for (const auto& [here, there] : command.descriptors) {
    check(posix_spawn_file_actions_adddup2(&actions.value, here, there), what);
    last = std::max(last, there);
  }
  check(posix_spawn_file_actions_addclosefrom_np(&actions.value, last + 1), what);
  if (!command.folder.empty()) {
    check(posix_spawn_file_actions_addchdir_np(&actions.value, command.folder.c_str()), what);
  }
  Attributes attributes;
  pid_t id = -1;
  check(posix_spawn(&id, command.arguments[0].c_str(), &actions.value, &attributes.value,
                    pointers(command.arguments).data(), pointers(command.environment).data()),
        what);
  return id;
}

// By number: the C library of Debian 12 has these, in a header that C++ cannot use.
Descriptor open_process(pid_t id) {
  const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, id, 0));
  return handle < 0 ? Descriptor() : Descriptor(handle, "a process");
}

void kill_process(const Descriptor& process) { ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0); }

std::string run(std::vector<std::string> arguments) {
  const std::string program = arguments.at(0);
  const Descriptor output = memory_file();
  const Descriptor errors = memory_file();
  const pid_t id = spawn({.arguments = std::move(arguments),
                          .environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"},
                          .descriptors = {{output.get(), 1}, {errors.get(), 2}}});
  int status = 0;
  while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) {
    std::string said = contents_of(errors);
    said.erase(said.find_last_not_of(" \n") + 1);
    throw drift::Error(program + " failed: " + said);
  }
  return contents_of(output);
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

}  // namespace drift::code
