#pragma once

#include <flint/fmpq.h>

#include <optional>
#include <string_view>

namespace math_reward {

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

}  // namespace math_reward
