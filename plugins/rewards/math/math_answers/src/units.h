#pragma once

#include <string_view>

namespace math_answers {

/// Whether `word` (ASCII letters, any case) is a unit, or what is counted: miles, cm, students. At least two letters.
bool is_unit(std::string_view word);

/// The name of the unit that `word` (ASCII letters, any case) spells, or of several as in "mile/hour"; empty for none,
/// and for what is only counted.
std::string_view measure_of(std::string_view word);

/// Whether one of the words of `text` multiplies the number before it: 5 million, 3 dozen eggs.
bool multiplies(std::string_view text);

/// m, s, g, h: units only behind a plain number and a space.
bool is_short_unit(char letter);

}  // namespace math_answers
