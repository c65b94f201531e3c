#pragma once

#include <core/config/run_config.h>

#include <cstdint>
#include <string>

namespace drift {

/// The size of the parts that a loss averages: `micro_batch` neighbouring responses first, then these means. Where it
/// does not divide the group, a remainder of fewer responses counts as much as a whole part.
/// @return null if the loss has no such parts, or their size divides the group
ResolvedValue* unequal_parts(ResolvedSection& loss, std::int64_t group_size);

/// Make it the largest divisor of the group up to what it is; its origin says so.
void make_equal(ResolvedValue& part, std::int64_t group_size);

/// "1, 2, 4, 8"
std::string divisors_of(std::int64_t group_size);

}  // namespace drift
