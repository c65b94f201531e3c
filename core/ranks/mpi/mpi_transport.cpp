// libdrift_mpi.so: the transport of a run that an MPI launcher has started. The program does not need MPI.

#include "background.h"
#include "rank_watch.h"
#include "turns.h"

#include <core/ranks/transport.h>

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace drift {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFailureTag = 1;
// A rank that waits for others asks this long without a pause, which is as long as short messages take; then it leaves
// the processor to them.
constexpr std::chrono::milliseconds kBusyWait(2);
constexpr std::chrono::microseconds kPause(100);
// Of exchanges aside, while the process computes: background.cpp.
constexpr std::chrono::microseconds kPauseAside(1000);
// The first rank may be busy with its own work before it hears of a failure.
constexpr std::chrono::seconds kPatience(20);
// A call of MPI returns at once, unless MPI itself hangs.
constexpr std::chrono::seconds kCall(2);
constexpr unsigned kAbort = 10;  // seconds

/// Counts and offsets as MPI wants them.
struct Pieces {
  explicit Pieces(std::span<const std::int64_t> bytes) {
    std::int64_t sum = 0;
    for (const std::int64_t count : bytes) {
      assert(sum + count <= INT_MAX);
      counts.push_back(static_cast<int>(count));
      offsets.push_back(static_cast<int>(sum));
      sum += count;
    }
  }
  std::vector<int> counts, offsets;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    // The program has its own handlers of fatal signals. Open MPI would warn that it does not replace them.
    ::setenv("OMPI_MCA_opal_signal", "", /*overwrite=*/0);
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_dup(MPI_COMM_WORLD, &aside_);
    watch_.emplace(mpi_);
    turns_.emplace(mpi_);
    background_.emplace(mpi_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_gather(Way way, const void* mine, void* all, std::span<const std::int64_t> bytes) override {
    const Pieces pieces(bytes);
    call(way, [&](MPI_Comm ranks, MPI_Request* request) {
      MPI_Iallgatherv(mine, pieces.counts[static_cast<std::size_t>(rank_)], MPI_BYTE, all, pieces.counts.data(),
                      pieces.offsets.data(), MPI_BYTE, ranks, request);
    });
  }

  void all_to_all(Way way, const void* mine, std::span<const std::int64_t> sent, void* theirs,
                  std::span<const std::int64_t> received) override {
    const Pieces to(sent), from(received);
    call(way, [&](MPI_Comm ranks, MPI_Request* request) {
      MPI_Ialltoallv(mine, to.counts.data(), to.offsets.data(), MPI_BYTE, theirs, from.counts.data(),
                     from.offsets.data(), MPI_BYTE, ranks, request);
    });
  }

  bool has_aside() const override {
    int safe = 0;
    MPI_Query_thread(&safe);
    return safe >= MPI_THREAD_SERIALIZED;
  }

  void wait_until(const std::function<bool()>& done) override {
    watch_->enter();
    hurried_ = true;
    poll_until(done);
    hurried_ = false;
    watch_->leave();
  }

  void begin_gather(const void* mine, void* all, std::span<const std::int64_t> bytes) override {
    const Pieces& pieces = gathering_.emplace_back(bytes);
    background_->begin([&](MPI_Request* request) {
      MPI_Iallgatherv(mine, pieces.counts[static_cast<std::size_t>(rank_)], MPI_BYTE, all, pieces.counts.data(),
                      pieces.offsets.data(), MPI_BYTE, MPI_COMM_WORLD, request);
    });
  }

  void finish_gathers() override {
    watch_->enter();
    poll_until([&] { return background_->is_idle(); });
    watch_->leave();
    gathering_.clear();
  }

  std::int64_t next(std::int64_t count) override { return turns_->next(count); }

  void watch(const WatchLimits& limits, Lost lost) override { watch_->begin(limits, std::move(lost)); }

  void tell_first(std::string_view text) override {
    watch_->hush();
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(mpi_);
      MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, kFailureTag, MPI_COMM_WORLD, &request);
    }
    for (const auto end = Clock::now() + kPatience; Clock::now() < end; std::this_thread::sleep_for(kPause))
      is_done(request);
  }

  void leave() override {
    call(Way::kMain, [](MPI_Comm ranks, MPI_Request* request) { MPI_Ibarrier(ranks, request); });
    watch_->end();
    turns_->end();
    background_->end();
    MPI_Finalize();
  }

  [[noreturn]] void abort(int status) override {
    watch_->hush();
    std::fflush(nullptr);
    // Where the launcher cannot be reached, this process at least ends.
    std::signal(SIGALRM, SIG_DFL);
    ::alarm(kAbort);
    const std::unique_lock lock(mpi_, kCall);
    MPI_Abort(MPI_COMM_WORLD, status);
    std::_Exit(status);
  }

 private:
  /// A collective call: begin(ranks, request) starts it. MPI's own waiting keeps a processor busy, and would not hear
  /// of a rank that has failed.
  template <class Begin>
  void call(Way way, const Begin& begin) {
    if (way == Way::kAside) return call_aside(begin);
    MPI_Request request = MPI_REQUEST_NULL;
    watch_->enter();
    {
      const std::lock_guard lock(mpi_);
      begin(MPI_COMM_WORLD, &request);
    }
    poll_until([&] { return is_done(request); });
    watch_->leave();
  }

  template <class Begin>
  void call_aside(const Begin& begin) {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(mpi_);
      begin(aside_, &request);
    }
    while (!is_done(request)) std::this_thread::sleep_for(hurried_ ? kPause : kPauseAside);
  }

  template <class Done>
  void poll_until(const Done& done) {
    const auto start = Clock::now();
    while (!done()) {
      if (rank_ == 0) look_for_failure();
      if (Clock::now() - start < kBusyWait) {
        ::sched_yield();
      } else {
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  bool is_done(MPI_Request& request) {
    const std::lock_guard lock(mpi_);
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

  void look_for_failure() {
    watch_->look();
    const std::lock_guard lock(mpi_);
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kFailureTag, MPI_COMM_WORLD, &found, &status);
    if (found == 0) return;
    int length = 0;
    MPI_Get_count(&status, MPI_CHAR, &length);
    std::string text(static_cast<std::size_t>(length), '\0');
    MPI_Recv(text.data(), length, MPI_CHAR, status.MPI_SOURCE, kFailureTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    throw RankFailure{status.MPI_SOURCE, text};
  }

  std::timed_mutex mpi_;  // MPI is called by one thread at a time
  std::optional<RankWatch> watch_;
  std::optional<Turns> turns_;
  std::optional<Background> background_;
  std::list<Pieces> gathering_;  // MPI reads them until the gathers have ended
  MPI_Comm aside_ = MPI_COMM_NULL;
  std::atomic<bool> hurried_ = false;  // the process waits for what goes on aside
  int rank_ = 0, size_ = 1;
};

}  // namespace
}  // namespace drift

extern "C" __attribute__((visibility("default"))) drift::Transport* drift_join_transport() {
  return new drift::MpiTransport();
}

/// May be called before drift_join_transport().
extern "C" __attribute__((visibility("default"))) const char* drift_describe_transport() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  return text;
}
