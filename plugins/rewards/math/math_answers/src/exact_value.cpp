#include "exact_value.h"

#include "answer_limits.h"
#include "token.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace math_answers {

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

// Larger radicands would take long to factor.
constexpr long kMostRadicandBits = 50;
constexpr int kMostPiPower = 1000;

ulong greatest_common_divisor(ulong a, ulong b) { return n_gcd(a, b); }

// n = square^2 * rest, rest square-free.
void split_square(ulong n, ulong& square, ulong& rest) {
  n_factor_t factors;
  n_factor_init(&factors);
  n_factor(&factors, n, 1);
  square = rest = 1;
  for (int i = 0; i < factors.num; ++i) {
    square *= n_pow(factors.p[i], factors.exp[i] / 2);
    if (factors.exp[i] % 2 == 1) rest *= factors.p[i];
  }
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
  // One bit: 0, 1 and -1 stay small.
  if (value.bits() > 1 && value.bits() > kMostBits / std::max(std::abs(exponent), 1L)) return std::nullopt;
  Rational result;
  fmpq_pow_si(result.get(), value.get(), exponent);
  return result;
}

ExactValue ExactValue::imaginary_unit() {
  ExactValue value;
  value.add({Rational(1), 1, 0, true});
  return value;
}

ExactValue ExactValue::pi() {
  ExactValue value;
  value.add({Rational(1), 1, 1, false});
  return value;
}

std::optional<Rational> ExactValue::rational() const {
  if (terms_.empty()) return Rational(0);
  if (terms_.size() > 1 || !terms_.front().same_kind(Term{})) return std::nullopt;
  return terms_.front().coefficient;
}

bool ExactValue::operator==(const ExactValue& other) const {
  return terms_.size() == other.terms_.size() && std::ranges::all_of(terms_, [&](const Term& term) {
           return std::ranges::any_of(other.terms_, [&](const Term& twin) {
             return term.same_kind(twin) && term.coefficient == twin.coefficient;
           });
         });
}

void ExactValue::add(Term term) {
  if (term.coefficient.is_zero()) return;
  const auto twin = std::ranges::find_if(terms_, [&](const Term& other) { return other.same_kind(term); });
  if (twin == terms_.end()) {
    terms_.push_back(std::move(term));
    return;
  }
  fmpq_add(twin->coefficient.get(), twin->coefficient.get(), term.coefficient.get());
  if (twin->coefficient.is_zero()) terms_.erase(twin);
}

bool ExactValue::too_large() const {
  return terms_.size() > kMostTerms ||
         std::ranges::any_of(terms_, [](const Term& term) { return term.coefficient.bits() > kMostBits; });
}

ExactValue::Size ExactValue::size() const {
  Size size;
  for (const Term& term : terms_) {
    size.numerator = std::max<long>(size.numerator, fmpz_bits(term.coefficient.numerator()));
    size.denominator = std::max<long>(size.denominator, fmpz_bits(term.coefficient.denominator()));
  }
  return size;
}

// What numerators and denominators have in common is divided out, which measured takes the power 1.5 of their length.
long ExactValue::fraction_cost(Size a, Size b) {
  const auto common =
      static_cast<double>(std::min(std::max(a.denominator, b.denominator), std::max(a.numerator, b.numerator)));
  const long length = a.numerator + a.denominator + b.numerator + b.denominator;
  return 1 + length / 48 + static_cast<long>(common * std::sqrt(common) / 128);
}

long ExactValue::cost(const ExactValue& other) const {
  const std::size_t pairs = std::clamp<std::size_t>(terms_.size() * other.terms_.size(), 1, 2 * kMostTerms);
  return static_cast<long>(pairs) * fraction_cost(size(), other.size());
}

long ExactValue::power_cost(long exponent) const {
  Size result = size();
  for (const Term& term : terms_) {
    result.numerator = std::max<long>(result.numerator,
                                      FLINT_BIT_COUNT(term.radicand) / 2 + 1 + fmpz_bits(term.coefficient.numerator()));
  }
  const long times = std::abs(exponent);
  result.numerator = std::min(result.numerator * times, kMostBits);
  result.denominator = result.denominator > 1 ? std::min(result.denominator * times, kMostBits) : 1;
  if (terms_.size() < 2) return 16 + (result.numerator + result.denominator) / 16;
  // Squares and products on the way, each half as long as the next, of a few terms.
  return 16 +
         3 * static_cast<long>(std::min(kMostTerms, 2 * terms_.size() * terms_.size())) * fraction_cost(result, result);
}

std::optional<ExactValue> ExactValue::plus(const ExactValue& other) const {
  ExactValue sum = *this;
  for (const Term& term : other.terms_) sum.add(term);
  if (sum.too_large()) return std::nullopt;
  return sum;
}

ExactValue ExactValue::negated() const {
  ExactValue value = *this;
  for (Term& term : value.terms_) fmpq_neg(term.coefficient.get(), term.coefficient.get());
  return value;
}

// sqrt(a) sqrt(b) = g sqrt(a/g b/g) with g the greatest common divisor: a and b are square-free.
std::optional<Term> ExactValue::product(const Term& a, const Term& b) {
  Term result;
  const ulong common = greatest_common_divisor(a.radicand, b.radicand);
  const ulong left = a.radicand / common;
  const ulong right = b.radicand / common;
  if (FLINT_BIT_COUNT(left) + FLINT_BIT_COUNT(right) > 62) return std::nullopt;
  result.radicand = left * right;
  result.pi_power = a.pi_power + b.pi_power;
  if (std::abs(result.pi_power) > kMostPiPower) return std::nullopt;
  result.imaginary = a.imaginary != b.imaginary;
  fmpq_mul(result.coefficient.get(), a.coefficient.get(), b.coefficient.get());
  fmpz_t factor;
  fmpz_init_set_ui(factor, common);
  if (a.imaginary && b.imaginary) fmpz_neg(factor, factor);
  fmpq_mul_fmpz(result.coefficient.get(), result.coefficient.get(), factor);
  fmpz_clear(factor);
  return result;
}

std::optional<ExactValue> ExactValue::times(const ExactValue& other) const {
  if (terms_.size() * other.terms_.size() > kMostTerms) return std::nullopt;
  ExactValue result;
  for (const Term& a : terms_) {
    for (const Term& b : other.terms_) {
      auto term = product(a, b);
      if (!term) return std::nullopt;
      result.add(std::move(*term));
    }
  }
  if (result.too_large()) return std::nullopt;
  return result;
}

// 1 / (c sqrt(n) pi^k) = sqrt(n) pi^-k / (c n).
std::optional<Term> ExactValue::inverse_of(const Term& term) {
  Term result;
  result.radicand = term.radicand;
  result.pi_power = -term.pi_power;
  result.imaginary = term.imaginary;
  fmpz_t n;
  fmpz_init_set_ui(n, term.radicand);
  if (term.imaginary) fmpz_neg(n, n);
  fmpq_mul_fmpz(result.coefficient.get(), term.coefficient.get(), n);
  fmpz_clear(n);
  fmpq_inv(result.coefficient.get(), result.coefficient.get());
  return result;
}

// Of a + b: (a - b) / (a^2 - b^2), where the divisor is one term.
std::optional<ExactValue> ExactValue::inverse() const {
  ExactValue result;
  if (terms_.size() == 1) {
    result.add(*inverse_of(terms_.front()));
    return result;
  }
  if (terms_.size() != 2) return std::nullopt;
  ExactValue conjugate = *this;
  fmpq_neg(conjugate.terms_.back().coefficient.get(), conjugate.terms_.back().coefficient.get());
  const auto divisor = times(conjugate);
  if (!divisor || divisor->terms_.size() != 1) return std::nullopt;
  result.add(*inverse_of(divisor->terms_.front()));
  return result.times(conjugate);
}

std::optional<ExactValue> ExactValue::to_power(long exponent) const {
  if (const auto fraction = rational()) {
    auto result = power(*fraction, exponent);
    if (!result) return std::nullopt;
    return ExactValue(std::move(*result));
  }
  if (exponent < 0) {
    const auto below = to_power(-exponent);
    return below ? below->inverse() : std::nullopt;
  }
  ExactValue result{Rational(1)};
  ExactValue square = *this;
  for (long left = exponent; left > 0; left /= 2) {
    if (left % 2 == 1) {
      auto next = result.times(square);
      if (!next) return std::nullopt;
      result = std::move(*next);
    }
    if (left == 1) break;
    auto next = square.times(square);
    if (!next) return std::nullopt;
    square = std::move(*next);
  }
  return result;
}

// sqrt(p/q) = sqrt(p q) / q.
std::optional<ExactValue> ExactValue::square_root(const Rational& value) {
  if (value.is_zero()) return ExactValue();
  if (const auto whole = exact_root(value, 2)) return ExactValue(*whole);
  Rational radicand;
  fmpz* const product = fmpq_numref(radicand.get());
  fmpz_mul(product, value.numerator(), value.denominator());
  Term term;
  term.imaginary = fmpz_sgn(product) < 0;
  fmpz_abs(product, product);
  if (fmpz_bits(product) > kMostRadicandBits) return std::nullopt;
  ulong square = 1;
  split_square(fmpz_get_ui(product), square, term.radicand);
  fmpq_set_fmpz(term.coefficient.get(), value.denominator());
  fmpq_inv(term.coefficient.get(), term.coefficient.get());
  fmpz_t factor;
  fmpz_init_set_ui(factor, square);
  fmpq_mul_fmpz(term.coefficient.get(), term.coefficient.get(), factor);
  fmpz_clear(factor);
  ExactValue root;
  root.add(std::move(term));
  return root;
}

std::optional<Rational> exact_root(const Rational& value, long index) {
  if (value.sign() < 0 && index % 2 == 0) return std::nullopt;
  Rational root;
  if (fmpz_root(fmpq_numref(root.get()), value.numerator(), index) == 0) return std::nullopt;
  if (fmpz_root(fmpq_denref(root.get()), value.denominator(), index) == 0) return std::nullopt;
  return root;
}

}  // namespace math_answers
