#pragma once

#include <span>
#include <string_view>

#include "token.h"

namespace math_reward {

struct Meaning {
  std::string_view written;
  Sign sign = Sign::kEnd;
  std::uint8_t detail = 0;
  std::string_view text = {};
};

// The tables behind vocabulary.h, each sorted by what is written.
std::span<const Meaning> command_table();
std::span<const Meaning> word_table();
std::span<const Meaning> unicode_table();  ///< the longest sign has three bytes
std::span<const std::string_view> unit_table();

}  // namespace math_reward
