#pragma once

#include <string_view>

namespace math_reward {

/// Whether the original gives up on a text because it repeats itself: over 128 characters, and the longest common
/// prefixes of neighbours in the suffix array sum to more than 0.2 of n(n+1)/2.
bool repeats_itself(std::u32string_view text);

}  // namespace math_reward
