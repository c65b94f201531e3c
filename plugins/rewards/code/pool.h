#pragma once

#include "judge.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace drift::code {

/// Threads that live as long as the pool, each with its own judge. A sandboxed process dies with the thread that
/// started it, so none is started anywhere else.
class Pool {
 public:
  using Job = std::function<void(Judge&)>;

  Pool(std::size_t threads, const std::function<std::unique_ptr<Judge>()>& make_judge);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Runs `job` on one of the threads and waits for it; what it throws is thrown here. From any thread.
  void run(const Job& job);

 private:
  void work(Judge& judge);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void(Judge&)>> jobs_;
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace drift::code
