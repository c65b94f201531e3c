#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include <mpi.h>

namespace drift {

/// Numbers that each go to one process, the next one to whoever asks first. The first process counts, and a thread of
/// it answers the others while it has work of its own.
class Turns {
 public:
  /// Collective. @param mpi  held around every call of MPI
  explicit Turns(std::timed_mutex& mpi);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// The next of 0, …, count - 1, or count if none is left. Every process asks until it hears that, and makes a
  /// collective call before it asks again.
  std::int64_t next(std::int64_t count);
  void end();

 private:
  std::int64_t ask();
  std::int64_t give();
  void answer();
  bool answer_one();

  std::timed_mutex& mpi_;
  MPI_Comm requests_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool served_ = false;   ///< else only one thread may call MPI, and each process takes every size-th number
  std::int64_t own_ = 0;  ///< the next of these

  // Of the first process.
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t count_ = 0, next_ = 0;  ///< no count: nobody is to be answered
  int asking_ = 0;                     ///< processes that have not heard that none is left
  bool ending_ = false;
};

}  // namespace drift
