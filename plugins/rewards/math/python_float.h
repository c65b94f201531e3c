#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace math_reward {

/// What Python's float(text) gives, nothing where it raises: white space around the number, digits of any script,
/// underscores between digits, `inf`, `infinity` and `nan` in any case; no hexadecimal. Too large is infinite.
std::optional<double> python_float(std::u32string_view text);

/// Python's str.isdigit(): not empty, and every character is a decimal or another digit, such as a superscript.
bool python_is_digit(std::u32string_view text);

}  // namespace math_reward
