#pragma once

#include <cstddef>

namespace math_answers {

// What an answer may cost. Each limit is looked at before the work is done; beyond it an answer counts as not readable,
// or two answers as not shown to be equal. The longest reference answer of MATH and GSM8K has 159 bytes.
constexpr std::size_t kLongestAnswer = 512;   ///< bytes
constexpr std::size_t kMostTokens = 256;      ///< of one answer
constexpr std::size_t kMostNodes = 2048;      ///< of both trees together
constexpr int kDeepestNesting = 32;           ///< brackets, fractions, roots, exponents
constexpr long kMostBits = 1L << 16;          ///< of a numerator or denominator
constexpr long kLargestFactorial = 3000;      ///< n of n!
constexpr long kLargestBinomial = 1'000'000;  ///< n of n over k
constexpr long kLargestChoice = 1000;         ///< k of n over k
constexpr std::size_t kMostTerms = 32;        ///< of an exact sum of roots
constexpr long kMostWork = 200'000;           ///< operations on 128-bit numbers, of about 25 nanoseconds each

/// What one comparison has cost so far, in operations: a verdict may depend on the limit, never on the clock.
class Work {
 public:
  /// Count `cost` operations. False once there were more than kMostWork.
  bool spend(long cost) {
    spent_ += cost;
    return spent_ <= kMostWork;
  }
  bool exhausted() const { return spent_ > kMostWork; }

 private:
  long spent_ = 0;
};

/// Thrown within this folder by what reads an answer; never leaves compare_answers().
struct Unreadable {
  const char* reason;
};

/// The reason where an answer is nan, which equals nothing, not even itself.
inline constexpr const char* kNotANumber = "nan is no number";

}  // namespace math_answers
