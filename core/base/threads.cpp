#include <core/base/threads.h>

#include <ATen/Parallel.h>

#include <algorithm>
#include <thread>

namespace drift {

void use_threads(std::int64_t count) {
  if (count == 0) count = std::max(1U, std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(count));
}

}  // namespace drift
