#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <mpi.h>

namespace drift {

/// Exchanges that go on while the process computes. MPI moves bytes only while it is called, so a thread calls it as
/// long as an exchange is under way.
class Background {
 public:
  /// @param mpi  held around every call of MPI, which then needs to be safe for one thread at a time only
  explicit Background(std::timed_mutex& mpi);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// start(request) begins an exchange.
  template <class Start>
  void begin(const Start& start) {
    {
      const std::lock_guard lock(mpi_);
      start(&requests_.emplace_back(MPI_REQUEST_NULL));
    }
    changed_.notify_one();
  }
  /// Whether all have ended; brings them forward.
  bool is_idle();
  void end();

 private:
  void run();

  std::timed_mutex& mpi_;
  std::vector<MPI_Request> requests_;  // under mpi_
  std::condition_variable_any changed_;
  bool ending_ = false;
  std::thread thread_;  // where MPI may be called by several
};

}  // namespace drift
