#pragma once

#include "interpreter.h"

#include <core/base/child_process.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

// Untrusted Python programs, each in an isolated process (docs/robustness.md describes the controls).
//
//   Sandbox sandbox({});                                             // once; throws drift::Error if it cannot be
//   SandboxedProcess worker = sandbox.start({.text = kWorkerProgram});
//   worker.send(frame, worker.deadline(1.0));
//   std::string reply;
//   while (worker.receive(reply, 4096, until) == ReadStatus::kData) …
//   ProcessEnd end = worker.stop();                                  // or let the destructor do it
//
// The program reads frames from descriptor 3 and writes them to descriptor 4 (os.read, os.write). It is its own only
// process and, unless `threads` is set, its only thread.

namespace drift::code {

struct SandboxOptions {
  std::string python = {};  ///< the interpreter, 3.11 or later; empty: /usr/bin/python3, else the first python3 in PATH
  bool unsafe = false;      ///< no namespaces and no system call filter: only limits. For programs that are trusted.
  bool threads = false;     ///< threads may be started
  std::vector<std::string> packages = {};  ///< of the interpreter's site packages: may be imported too, such as numpy
};

/// What one program may use. A limit that is exceeded shows inside as MemoryError or OSError, or ends the program.
struct SandboxLimits {
  double cpu_seconds = 60;                  ///< of the whole life of the process; rounded up to full seconds
  std::int64_t memory_bytes = 512LL << 20;  ///< address space
  std::int64_t stack_bytes = 64LL << 20;    ///< part of the address space
  std::int64_t file_bytes = 1LL << 20;      ///< largest file
  std::int64_t open_files = 64;             ///< descriptors
};

struct SandboxedProgram {
  std::string text = {};            ///< Python source of at most 120,000 bytes without NUL, run as `__main__`
  bool compiled = false;            ///< compile it once and keep that: for texts that are started often
  std::string standard_input = {};  ///< a sealed file in memory, so nothing has to be fed; empty: /dev/null.
                                    ///< Also /dev/stdin, where output is captured or there is input
  bool forks = false;           ///< may start copies of itself: only for programs that are trusted. In the sandbox its
                                ///< only argument is a filter of system calls in hexadecimal, by which these may not
  bool capture_output = false;  ///< standard output goes to read_output(); else, as standard error, to /dev/null
  SandboxLimits limits = {};
};

/// Until when something is waited for. Processor time decides, so that a verdict does not depend on what else the
/// machine does; the wall clock ends only what uses no processor time.
struct Deadline {
  double cpu_seconds = 0;  ///< on the process's own clock, see SandboxedProcess::cpu_seconds
  /// The time in which the process could have run and others had the processors comes on top.
  std::chrono::steady_clock::time_point wall;
};

enum class ReadStatus {
  kData,       ///< at least one byte was appended
  kClosed,     ///< the other side closed its end; nothing more will come
  kCpuLimit,   ///< the deadline's processor time is used up
  kWallLimit,  ///< the deadline's wall clock is over
  kTooLong,    ///< of a Channel: more than kMaxMessageBytes (wire.h) are announced
};

/// How a process ended.
struct ProcessEnd {
  bool stopped = false;    ///< it was still running and was killed by stop()
  int code = 0;            ///< its exit code, where `signal` is 0
  int signal = 0;          ///< what killed it, such as SIGSEGV or SIGKILL (limits, the kernel out of memory)
  double cpu_seconds = 0;  ///< processor time in all
};

/// One interpreter. Every member may be called from any one thread at a time. Never raises SIGPIPE. Destruction stops
/// it: nothing of it is left then, no process (not even a zombie), no file, no mount, no descriptor.
class SandboxedProcess {
 public:
  SandboxedProcess(const SandboxedProcess&) = delete;
  SandboxedProcess& operator=(const SandboxedProcess&) = delete;
  ~SandboxedProcess() { stop(); }

  /// Processor time used so far, the interpreter's start included (about 0.01 s); the kernel's word, not the program's.
  double cpu_seconds();

  /// From now: `cpu` seconds of processor time, and on the wall clock `wall` seconds (default 3 cpu + 2).
  Deadline deadline(double cpu) { return deadline(cpu, 3 * cpu + 2); }
  Deadline deadline(double cpu, double wall);

  /// All of `bytes` to the program's descriptor 3. False if it closed its end, or does not read until the deadline.
  bool send(std::string_view bytes, const Deadline& until);
  /// The program sees the end of descriptor 3.
  void close_send() { to_program_.close(); }

  /// Waits for bytes from the program's descriptor 4 and appends at most `max_bytes` of what is there to `into`.
  ReadStatus receive(std::string& into, std::size_t max_bytes, const Deadline& until) {
    return read_from(from_program_, into, max_bytes, until);
  }
  /// The same for standard output (`capture_output`).
  ReadStatus read_output(std::string& into, std::size_t max_bytes, const Deadline& until) {
    return read_from(output_, into, max_bytes, until);
  }

  /// Waits until the program has ended and returns how: kClosed, kCpuLimit or kWallLimit (it is then still running).
  ReadStatus wait(const Deadline& until);

  /// Kills what still runs and waits for it. Idempotent.
  ProcessEnd stop();

 private:
  friend class Sandbox;
  SandboxedProcess() = default;
  SandboxedProcess(ChildCommand command, const SandboxedProgram& program, bool confined,
                   const std::string& filter_rules);
  ReadStatus wait_for(const Descriptor& descriptor, short events, const Deadline& until);
  ReadStatus read_from(Descriptor& from, std::string& into, std::size_t max_bytes, const Deadline& until);
  bool is_running() const;
  std::chrono::steady_clock::time_point wall_clock();
  void reap();

  bool confined_ = true;
  ChildProcess child_;       ///< what is waited for: bubblewrap, or the program if unsafe
  pid_t program_ = -1;       ///< the interpreter
  Descriptor handle_;        ///< pidfd of the interpreter: readable once it has ended
  Descriptor to_program_;    ///< its descriptor 3
  Descriptor from_program_;  ///< its descriptor 4
  Descriptor output_;        ///< its standard output, if captured
  std::string folder_;       ///< its working directory, if unsafe
  double last_cpu_seconds_ = 0;
  std::chrono::nanoseconds last_waited_{0};
  bool reaped_ = false;
  ProcessEnd end_;
};

/// How programs are started: the interpreter, what it needs to see, the system call filter. Safe to use from several
/// threads at once.
class Sandbox {
 public:
  /// @throws drift::Error if there is no such interpreter or package, no bubblewrap, or the kernel forbids it; the hint
  /// says what to do.
  explicit Sandbox(const SandboxOptions& options);

  /// Returns when the process exists; the interpreter is then still starting. Let a program's first frame say that it
  /// is there: a process that ends before was not started properly, and nothing can be said of what it was to run.
  /// The process dies with the *thread* that called this (PR_SET_PDEATHSIG): call it from a thread that lives at least
  /// as long as the process is wanted.
  /// @throws drift::Error if it cannot be started: never the program's fault.
  SandboxedProcess start(const SandboxedProgram& program) const;

  /// For display: the interpreter and its version, and how it is confined.
  std::string description() const;

 private:
  void settle_confinement();
  std::vector<std::string> limits(const SandboxLimits& limits) const;
  std::vector<std::string> confinement(const SandboxedProgram& program) const;
  ChildCommand command(const SandboxedProgram& program) const;
  std::string compiled(const std::string& text) const;

  const SandboxOptions options_;
  Interpreter interpreter_;
  std::string prlimit_, bwrap_;
  std::string filter_, forking_filter_;
  std::string filter_of_copies_;  ///< in hexadecimal
  bool forbid_user_namespaces_ = true;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> compiled_texts_;
};

struct SandboxAvailability {
  bool works = false;
  std::string why;   ///< one sentence: what works, or what is wrong
  std::string hint;  ///< what to do about it; empty if it works
};

/// Tries for real: starts programs that attack (fork, memory, endless loop, large file, deleting, network, killing) and
/// finds the sandbox working only if each of them fails to do harm. Takes about a second; never throws.
SandboxAvailability probe_sandbox(const SandboxOptions& options = {});

}  // namespace drift::code
