#pragma once

#include <drift/random.h>

#include <cstdint>

namespace dataset {

/// Which item comes at `position` of round `round`: for every round, a random permutation of 0 … size-1. A pure
/// function without tables: positions may be asked for in any order, from any thread.
std::int64_t shuffled(std::int64_t position, std::int64_t size, std::int64_t round, const drift::RandomStream& random);

}  // namespace dataset
