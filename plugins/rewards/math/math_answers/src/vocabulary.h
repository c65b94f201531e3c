#pragma once

#include "token.h"

#include <optional>
#include <string_view>

namespace math_answers {

/// The word at the start of `words`, which loses it; empty at the end.
std::string_view take_word(std::string_view& words);

/// What a LaTeX command means; `name` is without the backslash, and may be one sign (",", "{").
std::optional<Token> command(std::string_view name);

/// What a word written without a backslash means where it stands alone: sqrt, and, percent. Not units.
std::optional<Token> plain_word(std::string_view word);

/// What a sign outside ASCII at the start of `text` means; `length`: its bytes.
std::optional<Token> unicode_sign(std::string_view text, std::size_t& length);

/// The TeX of a sign outside ASCII at the start of `text`: \frac{1}{2} for ½. Empty for others. `length`: its bytes.
std::string_view spelled_out(std::string_view text, std::size_t& length);

/// The ASCII sign of a raised or lowered one at the start of `text`; 0 for others. `kind` is ^ or _; where it is either
/// already, only such signs count. `length`: its bytes.
char small_sign(std::string_view text, char& kind, std::size_t& length);

/// "and" or "or" within commas and spaces: Sign::kAnd, Sign::kOr, otherwise kEnd.
Sign conjunction(std::string_view text);

/// a.m., PM and the like: kMorning, kAfternoon, otherwise 0.
std::uint8_t meridiem(std::string_view text);

}  // namespace math_answers
