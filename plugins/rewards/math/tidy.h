#pragma once

#include "lexer.h"

namespace math_reward {

/// Whether letters that may be units (5 m) are read as units or as variables.
enum class ShortUnits { kDrop, kKeep };

/// Take away what says nothing about the value: outer braces, a last full stop or comma, a leading \approx, units,
/// doubled separators.
/// @return whether a letter was taken for a unit
bool tidy(Tokens& tokens, ShortUnits short_units);

/// Whether the answer is nothing but one word in letters, such as LQSX or None: three or more of them, all capitals or
/// with only the first a capital. Longer products are not written like that.
bool is_bare_word(const Tokens& tokens);

/// Whether letters stand side by side, as in words.
bool has_words(const Tokens& tokens);

}  // namespace math_reward
