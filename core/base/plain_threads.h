#pragma once

#include <core/base/thread_limits.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace drift {

/// Processors that this process may use, at least 1.
inline std::size_t processor_cores() { return thread_limits().processors(); }

/// body(0) … body(count - 1), `threads` of them at a time, in plain threads: the calls may wait, for processes of their
/// own say. The first exception is thrown when those at work have ended; no further call is begun. What is made of
/// tensor operations goes through drift::parallel_rows() instead.
template <class Body>
void for_each_at_once(std::size_t count, const Body& body, std::size_t threads = processor_cores()) {
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
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace drift
