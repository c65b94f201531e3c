#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace drift {

/// body(0) … body(count - 1), as many at a time as there are cores, in plain threads: the calls may wait, for processes
/// of their own say. The first exception is thrown when the running calls have ended; no further call is started.
template <class Body>
void for_each_at_once(std::size_t count, const Body& body) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex guard;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(guard);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(cores, count); ++i) helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace drift
