#include "turns.h"

#include <signal.h>

#include <algorithm>
#include <chrono>

namespace drift {
namespace {

// Between two looks at whether a message has come.
constexpr std::chrono::microseconds kPause(500);

}  // namespace

Turns::Turns(std::timed_mutex& mpi) : mpi_(mpi) {
  MPI_Comm_dup(MPI_COMM_WORLD, &requests_);
  MPI_Comm_rank(requests_, &rank_);
  MPI_Comm_size(requests_, &size_);
  own_ = rank_;
  int safe = 0;
  MPI_Query_thread(&safe);
  MPI_Bcast(&safe, 1, MPI_INT, 0, requests_);
  served_ = safe >= MPI_THREAD_SERIALIZED;
  if (!served_ || rank_ != 0) return;
  sigset_t all, previous;  // signals are for other threads
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  thread_ = std::thread([this] { answer(); });
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

Turns::~Turns() { end(); }

void Turns::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::int64_t Turns::next(std::int64_t count) {
  if (!served_) {
    const std::int64_t number = std::min(own_, count);
    own_ = number == count ? rank_ : own_ + size_;
    return number;
  }
  if (rank_ != 0) return std::min(ask(), count);
  const std::lock_guard lock(mutex_);
  if (count_ == 0) {
    count_ = count;
    asking_ = size_;
    changed_.notify_one();
  }
  return give();
}

/// Under mutex_.
std::int64_t Turns::give() {
  const std::int64_t number = std::min(next_, count_);
  next_ = number + 1;
  if (number == count_ && --asking_ == 0) count_ = next_ = 0;
  return number;
}

std::int64_t Turns::ask() {
  std::int64_t number = 0;
  char request = 0;
  MPI_Request asked = MPI_REQUEST_NULL, answered = MPI_REQUEST_NULL;
  {
    const std::lock_guard lock(mpi_);
    MPI_Irecv(&number, 1, MPI_INT64_T, 0, 0, requests_, &answered);
    MPI_Isend(&request, 1, MPI_CHAR, 0, 0, requests_, &asked);
  }
  for (int sent = 0, done = 0; sent == 0 || done == 0;) {
    std::this_thread::sleep_for(kPause);
    const std::lock_guard lock(mpi_);
    MPI_Test(&asked, &sent, MPI_STATUS_IGNORE);
    MPI_Test(&answered, &done, MPI_STATUS_IGNORE);
  }
  return number;
}

// ---- the thread of the first process

void Turns::answer() {
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [&] { return count_ > 0 || ending_; });
    if (ending_) return;
    if (answer_one()) continue;
    lock.unlock();
    std::this_thread::sleep_for(kPause);
    lock.lock();
  }
}

/// Under mutex_. False if nobody asks.
bool Turns::answer_one() {
  const std::lock_guard lock(mpi_);
  int asked = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, requests_, &asked, &status);
  if (asked == 0) return false;
  char request = 0;
  MPI_Recv(&request, 1, MPI_CHAR, status.MPI_SOURCE, 0, requests_, MPI_STATUS_IGNORE);
  const std::int64_t number = give();
  MPI_Send(&number, 1, MPI_INT64_T, status.MPI_SOURCE, 0, requests_);
  return true;
}

}  // namespace drift
