#include "rank_watch.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace drift {
namespace {

constexpr int kTick = 500;  // milliseconds between two signs of life
// A launcher that ends all processes ends them one after another. Of these ends nothing is to be said.
constexpr std::chrono::milliseconds kSettling(100);
// The computing thread of the first process has so long to take what was found, if it waits in a call, …
constexpr std::chrono::milliseconds kTaking(300);
// … and so long to say it, or to hear of it.
constexpr int kPatience = 20'000;
// Where the first process is silent the second one says so; if it does not either, the third; …
constexpr int kTurn = 2'000;

/// What RankFailure::text is made of.
std::string failure_text(const std::string& what, const std::string& hint) { return what + '\0' + hint; }

std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

RankFailure ended_failure(int rank) {
  return {rank, failure_text("its process has ended before the run",
                             "if nothing above says why, it was killed: by somebody, or by the system, for lack of "
                             "memory (dmesg)")};
}

/// A process as the others of its host know it. Numbers of processes mean the same in the same space only.
struct Process {
  std::int64_t space = 0;
  std::int64_t id = 0;
};

Process this_process() {
  struct stat space {};
  ::stat("/proc/self/ns/pid", &space);
  return {static_cast<std::int64_t>(space.st_ino), ::getpid()};
}

}  // namespace

RankWatch::RankWatch(std::timed_mutex& mpi) : mpi_(mpi) {
  MPI_Comm_dup(MPI_COMM_WORLD, &beats_);
  MPI_Comm_rank(beats_, &rank_);
  MPI_Comm_size(beats_, &size_);
  peers_.resize(rank_ == 0 ? static_cast<std::size_t>(size_ - 1) : 1);
  for (std::size_t i = 0; i < peers_.size(); ++i) peers_[i].rank = rank_ == 0 ? static_cast<int>(i) + 1 : 0;
  find_host();
}

RankWatch::~RankWatch() {
  if (thread_.joinable()) {  // the program ends without the other ranks
    abandoned_ = true;
    wake();
    thread_.join();
  }
  for (const pollfd& process : processes_) {
    if (process.fd >= 0) ::close(process.fd);
  }
}

void RankWatch::find_host() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(beats_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
  int ranks = 0, own = 0;
  MPI_Comm_size(host, &ranks);
  MPI_Comm_rank(host, &own);
  host_ranks_.resize(static_cast<std::size_t>(ranks));
  MPI_Allgather(&rank_, 1, MPI_INT, host_ranks_.data(), 1, MPI_INT, host);
  has_first_ = host_ranks_.front() == 0;
  const Process process = this_process();
  std::vector<Process> processes(static_cast<std::size_t>(ranks));
  MPI_Allgather(&process, sizeof process, MPI_BYTE, processes.data(), sizeof process, MPI_BYTE, host);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const bool watched = static_cast<int>(i) != own && processes[i].space == process.space;
    processes_.push_back({watched ? static_cast<int>(::syscall(SYS_pidfd_open, processes[i].id, 0)) : -1, POLLIN, 0});
  }
  processes_.push_back({::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), POLLIN, 0});

  void* word = nullptr;
  MPI_Win_allocate_shared(own == 0 ? sizeof *hushed_ : 0, 1, MPI_INFO_NULL, host, &word, &shared_);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(shared_, 0, &bytes, &unit, &word);
  hushed_ = static_cast<std::atomic<std::int32_t>*>(word);
  if (own == 0) *hushed_ = 0;
  MPI_Barrier(host);
  MPI_Comm_free(&host);
}

void RankWatch::begin(const WatchLimits& limits, Transport::Lost lost) {
  silence_ = limits.silence;
  longest_wait_ = limits.longest_wait;
  int safe = 0;
  MPI_Query_thread(&safe);
  if (thread_.joinable() || safe < MPI_THREAD_SERIALIZED) return;
  lost_ = std::move(lost);
  {
    const std::lock_guard lock(mpi_);
    for (Peer& peer : peers_) receive(peer);
  }
  sigset_t all, previous;  // signals are for the threads that wait for them
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

void RankWatch::enter() {
  inside_ = true;
  ++entered_;
}

void RankWatch::leave() { inside_ = false; }

void RankWatch::look() {
  Offer offered = kOffered;
  if (offer_.load(std::memory_order_relaxed) == kOffered && offer_.compare_exchange_strong(offered, kTaken))
    throw RankFailure(failure_);
}

void RankWatch::hush() {
  if (hushed_ != nullptr) *hushed_ = 1;
}

void RankWatch::end() {
  hush();
  if (thread_.joinable()) {
    ending_ = true;
    wake();
    thread_.join();
  }
  hushed_ = nullptr;
  MPI_Win_free(&shared_);
  MPI_Comm_free(&beats_);
}

void RankWatch::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(processes_.back().fd, &one, sizeof one);
}

// ---- the thread

void RankWatch::run() {
  while (!abandoned_ && exchange_beats()) {
    const int milliseconds = ending_ ? 5 : kTick;
    // Time is what this thread has slept: in a process that was stopped, or gets no processor, none passes.
    if (sleep(milliseconds)) count(milliseconds);
  }
}

void RankWatch::receive(Peer& peer) {
  MPI_Irecv(&peer.arriving, sizeof(Beat), MPI_BYTE, peer.rank, 0, beats_, &peer.receiving);
}

/// False once all have exchanged their last signs.
bool RankWatch::exchange_beats() {
  int ended = -1;
  bool done = ending_;
  {
    const std::lock_guard lock(mpi_);
    for (Peer& peer : peers_) {
      for (int arrived = 0; peer.received.last == 0;) {
        MPI_Test(&peer.receiving, &arrived, MPI_STATUS_IGNORE);
        if (arrived == 0) break;
        peer.received = peer.arriving;
        peer.silent = 0;
        if (peer.received.lost >= 0) ended = peer.received.lost;
        if (peer.received.last == 0) receive(peer);
      }
      int sent = 0;
      MPI_Test(&peer.sending, &sent, MPI_STATUS_IGNORE);
      done = done && sent != 0 && peer.sent.last != 0 && peer.received.last != 0;
      if (sent == 0 || peer.sent.last != 0) continue;
      peer.sent = {entered_, inside_ ? 1 : 0, ended_, ending_ ? 1 : 0};
      MPI_Isend(&peer.sent, sizeof(Beat), MPI_BYTE, peer.rank, 0, beats_, &peer.sending);
    }
  }
  if (ended >= 0) report(ended_failure(ended));
  return !done;
}

/// False if it was woken.
bool RankWatch::sleep(int milliseconds) {
  if (::poll(processes_.data(), processes_.size(), milliseconds) == 0) return true;
  std::uint64_t woken = 0;
  [[maybe_unused]] const auto got = ::read(processes_.back().fd, &woken, sizeof woken);
  if (!ending_) look_for_ends();
  return false;
}

/// Of the processes of this host. The first of those that live says it, if need be to the first process of all.
void RankWatch::look_for_ends() {
  int ended = -1;
  for (std::size_t i = 0; i < host_ranks_.size(); ++i) {
    if (processes_[i].revents == 0) continue;
    ::close(std::exchange(processes_[i].fd, -1));
    const int rank = std::exchange(host_ranks_[i], -1);
    if (ended < 0) ended = rank;
  }
  if (ended < 0) return;
  std::this_thread::sleep_for(kSettling);
  const int speaker = *std::ranges::find_if(host_ranks_, [](int rank) { return rank >= 0; });
  if (speaker != rank_ || *hushed_ != 0) return;
  if (rank_ == 0 || has_first_) {
    report(ended_failure(ended));
  } else {
    ended_ = ended;  // the next sign of life has it
  }
}

void RankWatch::count(int milliseconds) {
  const double limit = silence_ * 1000 + (rank_ == 0 ? 0 : kTurn * (rank_ - 1));
  int silent = 0;
  RankFailure failure;
  for (Peer& peer : peers_) {
    if (peer.received.last != 0) continue;
    peer.silent += milliseconds;
    if (static_cast<double>(peer.silent) > limit && silent++ == 0) failure.rank = peer.rank;
  }
  if (silence_ > 0 && silent > 0) {
    failure.text = failure_text("it has given no sign of life for " + seconds_text(silence_) +
                                    (silent == 1 ? "" : ", nor " + std::to_string(silent - 1) + " more"),
                                "it was stopped, its machine hangs or cannot be reached; distributed.timeout sets how "
                                "long is waited");
    report(failure);
  }
  if (rank_ == 0) count_waiting(milliseconds);
  // Whoever ends the run may not reach this host any more.
  if (*hushed_ != 0 && rank_ != 0 && (hushed_for_ += milliseconds) > kPatience + kPatience / 2) std::_Exit(1);
  if (ended_ >= 0 && (told_ += milliseconds) > kPatience) report(ended_failure(ended_));
}

/// How long ranks have been waiting for others in the newest collective call.
void RankWatch::count_waiting(int milliseconds) {
  const std::int64_t own = entered_;
  std::int64_t newest = own;
  for (const Peer& peer : peers_) newest = std::max(newest, peer.received.entered);
  bool waited_for = own == newest && inside_;
  int missing = own < newest ? 1 : 0, first = own < newest ? 0 : -1;
  for (const Peer& peer : peers_) {
    waited_for = waited_for || (peer.received.entered == newest && peer.received.inside != 0);
    if (peer.received.entered < newest && missing++ == 0) first = peer.rank;
  }
  waited_ = waited_for && newest == newest_call_ ? waited_ + milliseconds : 0;
  newest_call_ = newest;
  if (longest_wait_ == 0 || static_cast<double>(waited_) <= longest_wait_ * 1000) return;
  const std::string time = seconds_text(longest_wait_);
  const std::string hint = "; distributed.longest_wait sets how long is waited";
  if (missing == 0) {
    report({0, failure_text("all ranks are in an exchange that has not ended for " + time,
                            "the network between them may be broken" + hint)});
  } else {
    report({first, failure_text("the others have waited for it for " + time + ", though it lives" +
                                    (missing == 1 ? "" : "; and for " + std::to_string(missing - 1) + " more"),
                                "its work does not end, or is far more than theirs" + hint)});
  }
}

void RankWatch::report(const RankFailure& failure) {
  if (hushed_->exchange(1) != 0) return;
  if (rank_ == 0) {
    failure_ = failure;
    offer_ = kOffered;
    std::this_thread::sleep_for(kTaking);
    Offer offered = kOffered;
    if (!offer_.compare_exchange_strong(offered, kTaken)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kPatience));
    }
  }
  lost_(failure);
}

}  // namespace drift
