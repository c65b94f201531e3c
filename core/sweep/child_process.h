#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// A program at work beside this one. It has a process group of its own, so that Ctrl-C reaches it only through this
/// process, and gets SIGTERM should this process die.
class ChildProcess {
 public:
  /// @param command  file of the program and its arguments
  /// @param output   where its standard output and error go, behind what is there
  /// @throws Error if it cannot be started
  ChildProcess(const std::vector<std::string>& command, const std::filesystem::path& output);
  /// Asks it to end, and waits until it has.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void send(int signal) const;
  /// Its exit status, 128 + signal where one killed it; nothing as long as it runs.
  std::optional<int> status();

 private:
  pid_t process_ = -1;
  std::optional<int> status_;
};

/// While it lives, wait() returns as soon as a child ends.
class ChildWatch {
 public:
  ChildWatch();
  ~ChildWatch();
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;

  /// Until a child ends, a signal comes, or the time is over.
  void wait(double seconds) const;

 private:
  sigset_t child_ended_, previous_;
};

}  // namespace drift
