#include "background.h"

#include <signal.h>

#include <chrono>

namespace drift {
namespace {

// Between two calls of MPI. Each takes tens of microseconds from the computation where there is no processor to spare:
// with 50 between them, ranks of one processor took up to 1.8 times as long for a step.
constexpr std::chrono::microseconds kPause(1000);

}  // namespace

Background::Background(std::timed_mutex& mpi) : mpi_(mpi) {
  int safe = 0;
  MPI_Query_thread(&safe);
  if (safe < MPI_THREAD_SERIALIZED) return;
  sigset_t all, previous;  // signals are for other threads
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

Background::~Background() { end(); }

void Background::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mpi_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool Background::is_idle() {
  const std::lock_guard lock(mpi_);
  if (requests_.empty()) return true;
  int done = 0;
  MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
  if (done != 0) requests_.clear();
  return done != 0;
}

void Background::run() {
  for (std::unique_lock lock(mpi_);;) {
    changed_.wait(lock, [&] { return !requests_.empty() || ending_; });
    if (ending_) return;
    lock.unlock();
    if (!is_idle()) std::this_thread::sleep_for(kPause);
    lock.lock();
  }
}

}  // namespace drift
