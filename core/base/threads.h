#pragma once

#include <cstdint>

namespace drift {

/// How many threads the operations of this process run on; 0: as many as it may (thread_limits()). How they wait for
/// each other is decided before the program is loaded (core/cli/launcher.cpp).
void use_threads(std::int64_t count);

}  // namespace drift
