#pragma once

#include <drift/reward.h>

#include <boost/multiprecision/cpp_int.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift::countdown {

/// Whatever an expression is made of, its value is exact.
using Rational = boost::multiprecision::cpp_rational;

/// Which values the steps of a calculation may have.
enum class Intermediates { kAny, kPositiveInteger };
constexpr Choices<Intermediates, 2> kIntermediates{
    {{"any", Intermediates::kAny}, {"positive_integer", Intermediates::kPositiveInteger}}};

/// An expression is short and flat enough that no answer costs more than microseconds.
constexpr std::size_t kLongestExpression = 256;  ///< bytes
constexpr int kDeepestNesting = 32;
constexpr std::int64_t kLargestNumber = 1'000'000'000;

struct Evaluation {
  Rational value;
  std::vector<std::int64_t> numbers;    ///< as they stand in the expression, from left to right
  std::optional<std::int64_t> claimed;  ///< 24 in "3 * 8 = 24"
  std::string odd_step;                 ///< "a step gives -4, not a positive integer", of the first such; else empty
};

/// Why a response has no value.
struct Refusal {
  RewardStatus status;  ///< kNoAnswer; kParseError: not an expression; kWrong: one that breaks a rule
  std::string reason;
};

/// The value of an arithmetic expression in whole numbers from 0 to kLargestNumber, + - * / : and brackets of any kind,
/// in any signs that math_answers::in_ascii() knows; also \times \cdot \ast \div \frac{}{} \boxed{}, with \left \right
/// \, \! \( $ ` and the like left out, and "= number" and a full stop at the end. There are no powers, no decimals, no
/// //. A sign before a number or bracket is read where intermediates may be negative.
/// @throws Refusal
Evaluation evaluate(std::string_view answer, Intermediates intermediates);

}  // namespace drift::countdown
