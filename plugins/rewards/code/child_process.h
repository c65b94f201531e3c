#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

// Starting a child process without fork(): a copy of a process with a hundred threads and tens of gigabytes mapped is
// slow, and can lock up. No descriptor is inherited except those named.

namespace drift::code {

/// An open file descriptor. All of this process's are close-on-exec and 10 or above, so that none is in the way when
/// the child's are put in their places.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes over `number`, or throws drift::Error with what the system said, if it is negative.
  Descriptor(int number, const char* what);
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Pipe make_pipe();
/// A file in memory that holds `contents`, is read from its start, and cannot be changed.
Descriptor sealed_file(const std::string& contents);
/// An empty file in memory.
Descriptor memory_file();
/// All of a file in memory.
std::string contents_of(const Descriptor& file);
void set_nonblocking(const Descriptor& descriptor);

struct Command {
  std::vector<std::string> arguments;  ///< the first is the program's path
  std::vector<std::string> environment = {};
  std::vector<std::pair<int, int>> descriptors =
      {};                   ///< (here, in the child), the child's below 10; 0 to 2 if not named: /dev/null
  std::string folder = {};  ///< working directory; empty: this process's
};

/// In a session of its own, with all signals as by default. Returns its process id; the caller waits for it.
pid_t spawn(const Command& command);

/// What stands for a process whatever becomes of its number: readable once it has ended. None if it has ended already.
Descriptor open_process(pid_t id);
void kill_process(const Descriptor& process);

/// Runs to the end. Returns its standard output, at most 1 MiB.
/// @throws drift::Error with what it wrote to standard error, if it does not end with status 0.
std::string run(std::vector<std::string> arguments);

/// The file that PATH leads to; empty if there is none.
std::string find_program(const std::string& name);

}  // namespace drift::code
