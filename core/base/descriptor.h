#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace drift {

/// An open file descriptor. All of this process's are close-on-exec and 10 or above, so that none is in the way when
/// a child's are put in their places.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes over `number`, or throws Error with what the system said, if it is negative.
  Descriptor(int number, const std::string& what);
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
void set_nonblocking(const Descriptor& descriptor);

/// An empty file in memory.
Descriptor memory_file();
/// A file in memory that holds `contents`, is read from its start, and cannot be changed.
Descriptor sealed_file(std::string_view contents);
/// All of a file in memory.
std::string contents_of(const Descriptor& file);

/// Throws Error for a failed call: "WHAT: what the system says", and what to do.
[[noreturn]] void throw_system_error(const std::string& what, int error_number);

}  // namespace drift
