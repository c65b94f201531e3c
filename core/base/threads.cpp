#include <core/base/threads.h>

#include <core/base/thread_limits.h>

#include <ATen/Parallel.h>

namespace drift {

void use_threads(std::int64_t count) {
  at::set_num_threads(static_cast<int>(count == 0 ? static_cast<std::int64_t>(thread_limits().threads()) : count));
}

}  // namespace drift
