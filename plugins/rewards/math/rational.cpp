#include "rational.h"

#include <algorithm>
#include <string>

#include "answer_limits.h"
#include "ascii.h"

namespace math_reward {
namespace {

constexpr long kMostDecimals = 10'000;

void set_integer(fmpz* out, const std::string& digits) {
  if (digits.empty()) {
    fmpz_zero(out);
  } else {
    fmpz_set_str(out, digits.c_str(), 10);
  }
}

void multiply_by_power_of_ten(Rational& value, long exponent) {
  Rational factor(10);
  fmpq_pow_si(factor.get(), factor.get(), exponent);
  fmpq_mul(value.get(), value.get(), factor.get());
}

}  // namespace

long Rational::bits() const {
  return std::max(static_cast<long>(fmpz_bits(numerator())), static_cast<long>(fmpz_bits(denominator())));
}

std::optional<long> Rational::small_integer(long limit) const {
  if (!is_integer() || fmpz_cmpabs(numerator(), Rational(limit).numerator()) > 0) return std::nullopt;
  return fmpz_get_si(numerator());
}

std::optional<Rational> rational_from(std::string_view digits) {
  if (digits.size() <= 18 && all_digits(digits)) {
    long value = 0;
    for (const char c : digits) value = 10 * value + (c - '0');
    return Rational(value);
  }
  long exponent = 0;
  if (const auto e = digits.find('E'); e != std::string_view::npos) {
    const bool negative = digits[e + 1] == '-';
    for (const char c : digits.substr(e + 1)) {
      if (!is_digit(c)) continue;
      exponent = 10 * exponent + (c - '0');
      if (exponent > kMostDecimals) return std::nullopt;
    }
    if (negative) exponent = -exponent;
    digits = digits.substr(0, e);
  }
  std::string repeating;
  if (const auto open = digits.find('('); open != std::string_view::npos) {
    repeating = digits.substr(open + 1, digits.size() - open - 2);
    digits = digits.substr(0, open);
  }
  const auto point = digits.find('.');
  std::string all(digits.substr(0, point));
  if (point != std::string_view::npos) {
    all += digits.substr(point + 1);
    exponent -= static_cast<long>(digits.size() - point - 1);
  }
  Rational value;
  set_integer(fmpq_numref(value.get()), all);
  if (!repeating.empty()) {
    // 0.1(6) is (1 + 6/9) / 10.
    Rational tail;
    set_integer(fmpq_numref(tail.get()), repeating);
    set_integer(fmpq_denref(tail.get()), std::string(repeating.size(), '9'));
    fmpq_canonicalise(tail.get());
    fmpq_add(value.get(), value.get(), tail.get());
  }
  if (exponent != 0) multiply_by_power_of_ten(value, exponent);
  if (value.bits() > kMostBits) return std::nullopt;
  return value;
}

std::optional<Rational> power(const Rational& value, long exponent) {
  if (exponent < 0 && value.is_zero()) return std::nullopt;
  const long magnitude = exponent < 0 ? -exponent : exponent;
  const bool trivial =
      value.is_integer() && fmpz_cmp_si(value.numerator(), -1) >= 0 && fmpz_cmp_si(value.numerator(), 1) <= 0;
  if (!trivial && value.bits() > kMostBits / std::max(magnitude, 1L)) return std::nullopt;
  Rational result;
  if (trivial) {
    const bool negative = value.sign() < 0 && magnitude % 2 == 1;
    result = value.is_zero() ? Rational(magnitude == 0) : Rational(negative ? -1 : 1);
    return result;
  }
  fmpq_pow_si(result.get(), value.get(), exponent);
  return result;
}

}  // namespace math_reward
