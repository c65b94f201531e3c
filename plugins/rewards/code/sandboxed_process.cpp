#include "sandbox.h"

#include <drift/error.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace drift::code {
namespace {

using std::chrono::steady_clock;

/// While it exists, a write to a closed pipe on this thread says EPIPE and raises no signal.
class WithoutBrokenPipeSignal {
 public:
  WithoutBrokenPipeSignal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&broken_pipe_);
    sigaddset(&broken_pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe_, &before_);
  }
  ~WithoutBrokenPipeSignal() {
    const timespec now{0, 0};
    if (!was_pending_) {
      while (sigtimedwait(&broken_pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutBrokenPipeSignal(const WithoutBrokenPipeSignal&) = delete;
  WithoutBrokenPipeSignal& operator=(const WithoutBrokenPipeSignal&) = delete;

 private:
  sigset_t broken_pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

bool is_ready(int descriptor, short events, int milliseconds) {
  pollfd wanted{descriptor, events, 0};
  return ::poll(&wanted, 1, milliseconds) > 0;
}

}  // namespace

/// kData: `descriptor` is ready for `events`. Processor time is looked at first: what came too late is not taken,
/// however late this thread is itself.
ReadStatus SandboxedProcess::wait_for(const Descriptor& descriptor, short events, const Deadline& until) {
  for (int wait = 0;;) {
    const bool ready = is_ready(descriptor.get(), events, wait);
    const double cpu_left = until.cpu_seconds - cpu_seconds();
    if (cpu_left <= 0) return ReadStatus::kCpuLimit;
    if (ready) return ReadStatus::kData;
    const double wall_left = std::chrono::duration<double>(until.wall - wall_clock()).count();
    if (wall_left <= 0) return ReadStatus::kWallLimit;
    // One thread cannot use processor time faster than the wall clock runs.
    wait = static_cast<int>(std::ceil(1e3 * std::clamp(std::min(cpu_left, wall_left), 1e-3, 60.0)));
  }
}

ReadStatus SandboxedProcess::read_from(Descriptor& from, std::string& into, std::size_t max_bytes,
                                       const Deadline& until) {
  if (!from || max_bytes == 0) return ReadStatus::kClosed;
  while (true) {
    const ReadStatus status = wait_for(from, POLLIN, until);
    if (status != ReadStatus::kData) return status;
    const std::size_t before = into.size();
    into.resize(before + std::min<std::size_t>(max_bytes, 65536));
    const ssize_t got = ::read(from.get(), into.data() + before, into.size() - before);
    into.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) return ReadStatus::kData;
    if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      from.close();
      return ReadStatus::kClosed;
    }
  }
}

bool SandboxedProcess::send(std::string_view bytes, const Deadline& until) {
  if (!to_program_) return false;
  const WithoutBrokenPipeSignal quiet;
  while (!bytes.empty()) {
    const ssize_t written = ::write(to_program_.get(), bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      if (wait_for(to_program_, POLLOUT, until) != ReadStatus::kData) return false;
    } else if (errno != EINTR) {
      to_program_.close();
      return false;
    }
  }
  return true;
}

bool SandboxedProcess::is_running() const { return handle_ && !reaped_ && !is_ready(handle_.get(), POLLIN, 0); }

double SandboxedProcess::cpu_seconds() {
  clockid_t clock{};
  timespec time{};
  // Asked for by number, which belongs to the program as long as its handle says that it has not ended.
  const bool known = ::clock_getcpuclockid(program_, &clock) == 0 && ::clock_gettime(clock, &time) == 0;
  if (is_running()) {
    if (known) last_cpu_seconds_ = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  } else if (confined_) {
    reap();
  }
  return last_cpu_seconds_;
}

/// The wall clock without the time in which the program could have run and other processes had the processors: the
/// second number of /proc/PID/schedstat, in nanoseconds; 0 where the kernel does not count it. After the end it is what
/// was read last.
steady_clock::time_point SandboxedProcess::wall_clock() {
  const auto now = steady_clock::now();
  std::int64_t ran = 0, waited = 0;
  std::ifstream file("/proc/" + std::to_string(program_) + "/schedstat");
  if (file >> ran >> waited) last_waited_ = std::max(last_waited_, std::chrono::nanoseconds(waited));
  return now - last_waited_;
}

/// The child is bubblewrap, which waits for the program and ends as it did; or, if unsafe, the program.
void SandboxedProcess::reap() {
  if (reaped_) return;
  const drift::ChildEnd& child_end = child_.wait();
  reaped_ = true;
  end_.cpu_seconds = last_cpu_seconds_ = std::max(last_cpu_seconds_, child_end.cpu_seconds);
  constexpr int kKilled = 128;  // what bubblewrap adds to a signal to tell it
  const bool told = confined_ && child_end.code > kKilled;
  end_.signal = told ? child_end.code - kKilled : child_end.signal;
  end_.code = told ? 0 : child_end.code;
}

ProcessEnd SandboxedProcess::stop() {
  if (child_.id() > 0 && !reaped_) {
    end_.stopped = is_running();
    // The program is the first process of its namespace: the kernel ends with it whatever else is there.
    confined_&& handle_ ? drift::kill_process(handle_) : child_.send(SIGKILL);
    reap();
  }
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(std::exchange(folder_, {}), ignored);
  }
  return end_;
}

Deadline SandboxedProcess::deadline(double cpu, double wall) {
  return {cpu_seconds() + cpu,
          wall_clock() + std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(wall))};
}

ReadStatus SandboxedProcess::wait(const Deadline& until) {
  if (reaped_) return ReadStatus::kClosed;
  const ReadStatus status = wait_for(handle_, POLLIN, until);
  return status == ReadStatus::kData ? ReadStatus::kClosed : status;
}

}  // namespace drift::code
