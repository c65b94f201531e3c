#pragma once

// Programs beside this one, started without fork(): a copy of a process with a hundred threads and tens of gigabytes
// mapped is slow, and can lock up.
//
//     const Descriptor output(::open("output.txt", O_WRONLY | O_CREAT | O_CLOEXEC, 0666), "output.txt");
//     ChildProcess child({.arguments = {"/bin/date"}, .descriptors = {{output.get(), STDOUT_FILENO}}});
//     if (child.wait().status() != 0) …

#include <core/base/descriptor.h>

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// This process's environment with some variables set, each "NAME=VALUE".
std::vector<std::string> environment_with(const std::vector<std::string>& variables);
/// For programs that nothing of the user's should sway.
inline const std::vector<std::string> kPlainEnvironment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};

struct ChildCommand {
  std::vector<std::string> arguments;  ///< the first is the program's file
  std::vector<std::string> environment = environment_with({});
  /// (here, in the child), the child's below 10. No other is inherited; 0 to 2, where not named, are /dev/null.
  std::vector<std::pair<int, int>> descriptors = {};
  std::filesystem::path folder = {};  ///< working folder; empty: this process's
  int end_signal = SIGKILL;           ///< what a ChildProcess that goes sends to one that still runs
  /// SIGTERM when the starting thread ends. For programs of this tree: their launcher asks the system for it.
  bool ends_with_parent = false;
};

/// How a process ended.
struct ChildEnd {
  int code = 0;    ///< what it exited with, where `signal` is 0
  int signal = 0;  ///< what killed it
  double cpu_seconds = 0;

  /// As a shell tells it: the exit code, or 128 + signal.
  int status() const { return signal != 0 ? 128 + signal : code; }
};

/// A program at work, in a session of its own: Ctrl-C reaches it only through this process. All signals are as by
/// default.
class ChildProcess {
 public:
  ChildProcess() = default;
  /// @throws Error if it cannot be started
  explicit ChildProcess(const ChildCommand& command);
  ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  /// Sends the command's end_signal, and waits until it has ended.
  ~ChildProcess();

  /// -1: there is none.
  pid_t id() const { return id_; }
  /// To it and what it has started in its session; to nobody once it has been waited for.
  void send(int signal) const;
  const ChildEnd& wait();
  /// How it ended; nothing as long as it runs.
  const std::optional<ChildEnd>& end();

 private:
  void wait_with(int options);

  pid_t id_ = -1;
  int end_signal_ = SIGKILL;
  std::optional<ChildEnd> end_;
};

struct CommandOutput {
  ChildEnd end;
  std::string output, error;
};
/// Runs to the end. Standard output and error need not be named.
CommandOutput run(ChildCommand command);
/// The standard output of a command that must end with status 0.
/// @throws Error with what it wrote to standard error, if it does not
std::string output_of(const ChildCommand& command);

/// The words as a shell takes them: quoted where they hold more than letters, digits and a few signs.
std::string shell_command(const std::vector<std::string>& words);

/// The file that PATH leads to; empty if there is none.
std::string find_program(const std::string& name);

/// What stands for any process, whatever becomes of its number: readable once it has ended. None if it has ended
/// already.
Descriptor open_process(pid_t id);
void kill_process(const Descriptor& process);

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
