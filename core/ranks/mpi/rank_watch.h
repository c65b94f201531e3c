#pragma once

#include <core/ranks/transport.h>

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

namespace drift {

/// Whether the other processes of a run live. A thread of each one gives signs of life, whatever the process computes:
/// all to the first process, and that one to all. A process of the same host is also known to have ended as soon as it
/// has. What is found is said once, by one process.
class RankWatch {
 public:
  /// Collective. @param mpi  held around every call of MPI, which then needs to be safe for one thread at a time only
  explicit RankWatch(std::timed_mutex& mpi);
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  /// Begin, or go on with other limits.
  void begin(const WatchLimits& limits, Transport::Lost lost);

  /// The computing thread is in a collective call, …
  void enter();
  /// … looks there whether a rank is lost, …
  /// @throws RankFailure on the first rank, if one is
  void look();
  /// … and is at work again.
  void leave();

  /// Why the run ends is being said: of processes that end now nothing is said.
  void hush();
  /// Collective. Nothing is watched any more.
  void end();

 private:
  /// A sign of life.
  struct Beat {
    std::int64_t entered = 0;  ///< collective calls, up to now
    std::int32_t inside = 0;   ///< of the last one
    std::int32_t lost = -1;    ///< a rank of the sender's host that has ended
    std::int32_t last = 0;     ///< no further sign comes
  };
  /// A process that signs are exchanged with.
  struct Peer {
    int rank = 0;
    MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
    Beat sent, received, arriving;
    std::int64_t silent = 0;  ///< milliseconds
  };

  void find_host();
  void wake();
  void run();
  bool exchange_beats();
  void receive(Peer& peer);
  bool sleep(int milliseconds);
  void look_for_ends();
  void count(int milliseconds);
  void count_waiting(int milliseconds);
  void report(const RankFailure& failure);

  std::timed_mutex& mpi_;
  MPI_Comm beats_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<Peer> peers_;

  // This host: its ranks, what is readable when their processes have ended, and a word that they share.
  std::vector<int> host_ranks_;    ///< -1: its process has ended
  bool has_first_ = false;         ///< had, as the run began
  std::vector<pollfd> processes_;  ///< the last one wakes the thread
  MPI_Win shared_ = MPI_WIN_NULL;
  std::atomic<std::int32_t>* hushed_ = nullptr;

  std::thread thread_;
  Transport::Lost lost_;
  std::atomic<double> silence_ = 0, longest_wait_ = 0;
  std::atomic<bool> ending_ = false, abandoned_ = false;
  std::atomic<std::int64_t> entered_ = 0;
  std::atomic<bool> inside_ = false;

  // Of the thread.
  int ended_ = -1;                ///< of this host, as the first process is told
  std::int64_t told_ = 0;         ///< milliseconds ago
  std::int64_t hushed_for_ = 0;   ///< milliseconds
  std::int64_t newest_call_ = 0;  ///< the last collective call that a rank has entered, …
  std::int64_t waited_ = 0;       ///< … and milliseconds that it has been waited for there

  // From the thread of the first process to the computing one.
  enum Offer { kNothing, kOffered, kTaken };
  std::atomic<Offer> offer_ = kNothing;
  RankFailure failure_;
};

}  // namespace drift
