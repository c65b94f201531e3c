#pragma once

#include "sandbox.h"

#include <core/process/child_process.h>

#include <string>

namespace drift::code {

using drift::ChildProcess;
using drift::Descriptor;
using drift::Pipe;

struct SandboxedProcess::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { stop(); }

  ReadStatus wait_for(const Descriptor& descriptor, short events, const Deadline& until);
  ReadStatus read_from(Descriptor& from, std::string& into, std::size_t max_bytes, const Deadline& until);
  bool send(std::string_view bytes, const Deadline& until);
  bool is_running() const;
  double cpu_seconds();
  std::chrono::steady_clock::time_point wall_clock();
  void reap();
  ProcessEnd stop();

  bool confined = true;
  ChildProcess child;       ///< what is waited for: bubblewrap, or the program if unsafe
  pid_t program = -1;       ///< the interpreter
  Descriptor handle;        ///< pidfd of the interpreter: readable once it has ended
  Descriptor to_program;    ///< its descriptor 3
  Descriptor from_program;  ///< its descriptor 4
  Descriptor output;        ///< its standard output, if captured
  std::string folder;       ///< its working directory, if unsafe
  double last_cpu_seconds = 0;
  std::chrono::nanoseconds last_waited{0};
  bool reaped = false;
  ProcessEnd end;
};

}  // namespace drift::code
