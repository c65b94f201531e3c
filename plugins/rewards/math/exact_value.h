#pragma once

#include <flint/ulong_extras.h>

#include <boost/container/small_vector.hpp>
#include <optional>

#include "rational.h"

namespace math_reward {

/// coefficient * sqrt(radicand) * pi^pi_power * (i if imaginary); radicand positive and square-free.
struct Term {
  Rational coefficient;
  ulong radicand = 1;
  int pi_power = 0;
  bool imaginary = false;

  bool same_kind(const Term& other) const {
    return radicand == other.radicand && pi_power == other.pi_power && imaginary == other.imaginary;
  }
};

/// A sum of such terms, of different kinds and without zeros. Roots of different square-free integers are independent
/// over the rationals, and pi is transcendental: equal numbers have equal sums, so equality is decided without
/// rounding. Operations give nothing where the result is not such a sum, or too large.
class ExactValue {
 public:
  ExactValue() = default;
  explicit ExactValue(Rational value) { add({std::move(value)}); }
  static ExactValue imaginary_unit();
  static ExactValue pi();

  bool is_zero() const { return terms_.empty(); }
  /// The value as a fraction, if it is one.
  std::optional<Rational> rational() const;
  bool operator==(const ExactValue& other) const;

  std::optional<ExactValue> plus(const ExactValue& other) const;
  std::optional<ExactValue> times(const ExactValue& other) const;
  /// Operations that a sum or product with `other`, or a power, takes at most.
  long cost(const ExactValue& other) const;
  long power_cost(long exponent) const;
  ExactValue negated() const;
  /// Of one term or two; the value must not be zero.
  std::optional<ExactValue> inverse() const;
  std::optional<ExactValue> to_power(long exponent) const;
  /// The principal square root of a fraction.
  static std::optional<ExactValue> square_root(const Rational& value);

 private:
  struct Size {
    long numerator = 1, denominator = 1;  // bits of the largest
  };
  Size size() const;
  static long fraction_cost(Size a, Size b);
  void add(Term term);
  bool too_large() const;
  static std::optional<Term> product(const Term& a, const Term& b);
  static std::optional<Term> inverse_of(const Term& term);

  boost::container::small_vector<Term, 2> terms_;
};

/// The real index-th root of a fraction where it is one; index >= 1.
std::optional<Rational> exact_root(const Rational& value, long index);

}  // namespace math_reward
