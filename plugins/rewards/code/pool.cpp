#include "pool.h"

namespace drift::code {

Pool::Pool(std::size_t threads, const std::function<std::unique_ptr<Judge>()>& make_judge) {
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this, make_judge] { work(*make_judge()); });
  }
}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

void Pool::run(const Job& job) {
  std::packaged_task<void(Judge&)> task(job);
  auto done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(task));
  }
  changed_.notify_one();
  done.get();
}

void Pool::work(Judge& judge) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    auto task = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    task(judge);
    lock.lock();
  }
}

}  // namespace drift::code
