#pragma once

#include <boost/container/small_vector.hpp>
#include <flint/fmpq.h>
#include <flint/ulong_extras.h>

#include <optional>
#include <string_view>

namespace math_answers {

/// An exact fraction in lowest terms. What would be too large is refused before it is computed (kMostBits), since FLINT
/// ends the process when memory runs out or a divisor is zero.
class Rational {
 public:
  Rational() { fmpq_init(value_); }
  Rational(long integer) : Rational() { fmpz_set_si(fmpq_numref(value_), integer); }
  Rational(const Rational& other) : Rational() { fmpq_set(value_, other.value_); }
  Rational(Rational&& other) noexcept : Rational() { fmpq_swap(value_, other.value_); }
  Rational& operator=(Rational other) noexcept {
    fmpq_swap(value_, other.value_);
    return *this;
  }
  ~Rational() { fmpq_clear(value_); }

  fmpq* get() { return value_; }
  const fmpq* get() const { return value_; }
  const fmpz* numerator() const { return fmpq_numref(value_); }
  const fmpz* denominator() const { return fmpq_denref(value_); }

  bool is_zero() const { return fmpq_is_zero(value_) != 0; }
  bool is_integer() const { return fmpz_is_one(denominator()) != 0; }
  int sign() const { return fmpq_sgn(value_); }
  /// Bits of the larger of numerator and denominator.
  long bits() const;
  /// The value as an integer between -limit and limit, if it is one.
  std::optional<long> small_integer(long limit) const;
  bool operator==(const Rational& other) const { return fmpq_equal(value_, other.value_) != 0; }

 private:
  fmpq_t value_;
};

/// The value of a number as the lexer writes it: "12", "0.5", "0.1(6)", "1.5E-4". Nothing if it has more than
/// kMostBits.
std::optional<Rational> rational_from(std::string_view digits);

/// value^exponent, nothing if the result has more than kMostBits or zero is raised to a negative power.
std::optional<Rational> power(const Rational& value, long exponent);

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

}  // namespace math_answers
