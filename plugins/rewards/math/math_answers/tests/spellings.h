#pragma once

// Other ways to write a mathematical answer, made from its text alone: what a judge of answers must accept, and small
// changes that it must refuse.

#include <string>
#include <vector>

namespace math_answers::test {

struct Spellings {
  std::vector<std::string> equal;  ///< the same answer: another layout, k times both sides of a fraction, reordered …
  std::vector<std::string>
      unequal;  ///< another answer: one number more, another sign, entries swapped, another bracket
};

/// @param truth  a final answer in LaTeX, of any of the usual shapes; of an unusual one only the layout is changed
Spellings spellings_of(const std::string& truth);

}  // namespace math_answers::test
