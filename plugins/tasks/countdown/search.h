#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drift::countdown {

/// The search looks at every expression: about 200 for 3 numbers, 10,000 for 4.
constexpr std::size_t kMostNumbers = 4;

struct Solution {
  std::string text;        ///< without spaces or needless brackets, for example "(7-3)*6"
  bool only_sums = false;  ///< neither * nor /
};

/// The simplest expression over every one of `numbers`, each exactly once, that equals `target` with positive integers
/// throughout (so that it is valid by every rule set of the reward): fewest products and quotients, then fewest
/// brackets, then, from left to right, the number that was given first and the operator that is first in "+-*/".
/// Nothing if there is none.
/// @param operators  those of "+-*/" that may be used
/// @param numbers  at most kMostNumbers, each positive
std::optional<Solution> simplest_solution(const std::vector<std::int64_t>& numbers, std::int64_t target,
                                          const std::string& operators);

/// Rules by which a puzzle must have a solution; those of the reward `countdown`.
struct Rules {
  bool all_numbers = true;        ///< a solution uses every number
  bool positive_integers = true;  ///< so are its steps
};

/// Whether any expression over `numbers`, each at most 1000, equals `target` by `rules`.
bool is_solvable(const std::vector<std::int64_t>& numbers, std::int64_t target, const std::string& operators,
                 const Rules& rules);

}  // namespace drift::countdown
