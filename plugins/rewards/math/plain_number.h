#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace math_reward {

/// numerator / denominator, not in lowest terms; both below 10^18.
struct PlainNumber {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  bool decimal = false;  ///< written with a point
};

/// The value of what most answers look like: 12, -3.5, \frac{3}{4}, with spaces around. Nothing for anything else, or
/// for more than 18 digits; then the whole grammar must read it.
std::optional<PlainNumber> plain_number(std::string_view text);

bool operator==(const PlainNumber& a, const PlainNumber& b);

}  // namespace math_reward
