#pragma once

#include <string>
#include <string_view>

namespace math_reward {

struct EquivalenceOptions {
  bool lenient_percent = true;            ///< 10 is also accepted for 10\%
  int decimal_places = 6;                 ///< a decimal equals what rounds to the same so many places; -1: never
  bool interval_from_inequality = false;  ///< accept -2 < x < 7 where the truth is (-2, 7)
  bool vector_as_tuple = false;  ///< accept (1, 2) where the truth is a column or row of 1 and 2, and the reverse
};

struct Comparison {
  bool equal = false;
  std::string reason;  ///< one line for people, for example "3/4 is not 2/3"; ASCII, however hostile the answers are
  bool truth_parsed = false;
  bool prediction_parsed = false;
};

/// Whether two final answers, written in LaTeX or plainly, mean the same mathematics. It is not symmetric: the truth
/// decides what kind of answer is wanted (an inequality may be answered by an interval, not the reverse). An answer
/// that cannot be read equals only one that is written the same. Nothing is thrown, whatever the bytes; there is no
/// global state, and any number of threads may call it; what the libraries keep for a thread goes when the thread ends.
Comparison compare_answers(std::string_view truth, std::string_view prediction, const EquivalenceOptions& options = {});

}  // namespace math_reward
