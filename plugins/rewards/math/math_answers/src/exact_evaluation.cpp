#include "evaluation.h"

#include <algorithm>
#include <utility>

namespace math_answers {
namespace {

constexpr long kLargestExponent = 1L << 20;
constexpr long kLargestIndex = 1000;
constexpr long kDearestPower = kMostWork / 16;  // of a sum; beyond it rounding may still tell what it is

class Evaluation {
 public:
  Evaluation(const Tree& tree, Work& work) : tree_(tree), work_(work) {}

  Outcome run(Place at, ExactValue& out) {
    if (!work_.spend(1)) return Outcome::kTooLarge;
    switch (tree_.kind(at)) {
      case Kind::kNumber: return number(at, out);
      case Kind::kPi: out = ExactValue::pi(); return Outcome::kValue;
      case Kind::kImaginary: out = ExactValue::imaginary_unit(); return Outcome::kValue;
      case Kind::kNegate: return one(at, out, [](const ExactValue& value) { return std::optional(value.negated()); });
      case Kind::kDegrees: return run(tree_.left(at), out);
      case Kind::kPercent: return percent(at, out);
      case Kind::kSum: return two(at, out, [](const ExactValue& a, const ExactValue& b) { return a.plus(b); });
      case Kind::kProduct: return two(at, out, [](const ExactValue& a, const ExactValue& b) { return a.times(b); });
      case Kind::kQuotient: return quotient(at, out);
      case Kind::kPower: return power(at, out);
      case Kind::kRoot: return root(at, out);
      case Kind::kFactorial: return factorial(at, out);
      case Kind::kBinomial: return binomial(at, out);
      case Kind::kAbsolute:
      case Kind::kFloor:
      case Kind::kCeiling: return rounded(at, out);
      case Kind::kFunction: return function(at, out);
      case Kind::kSymbol:
      case Kind::kEuler:
      case Kind::kCall: return Outcome::kOther;
      default: return Outcome::kUndefined;
    }
  }

 private:
  // A sum or product that is no such sum may still have a value that is not too large.
  Outcome keep(std::optional<ExactValue> value, ExactValue& out) const {
    if (!value) return Outcome::kOther;
    out = std::move(*value);
    return Outcome::kValue;
  }

  template <typename Operation>
  Outcome one(Place at, ExactValue& out, Operation operation) {
    ExactValue value;
    const Outcome outcome = run(tree_.left(at), value);
    return outcome == Outcome::kValue ? keep(operation(value), out) : outcome;
  }

  // Both sides are looked at, as only they tell that an expression is undefined or too large.
  Outcome both(Place at, ExactValue& a, ExactValue& b) {
    const Outcome left = run(tree_.left(at), a);
    if (left == Outcome::kUndefined || left == Outcome::kTooLarge) return left;
    const Outcome right = run(tree_.right(at), b);
    return right == Outcome::kValue ? left : right;
  }

  template <typename Operation>
  Outcome two(Place at, ExactValue& out, Operation operation) {
    ExactValue a;
    ExactValue b;
    const Outcome outcome = both(at, a, b);
    if (outcome != Outcome::kValue) return outcome;
    if (!work_.spend(a.cost(b))) return Outcome::kTooLarge;
    auto value = operation(a, b);
    return !value && a.rational() && b.rational() ? Outcome::kTooLarge : keep(std::move(value), out);
  }

  Outcome number(Place at, ExactValue& out) {
    auto value = rational_from(tree_[at].text);
    if (!value) return Outcome::kTooLarge;
    out = ExactValue(std::move(*value));
    return Outcome::kValue;
  }

  Outcome percent(Place at, ExactValue& out) {
    Rational hundredth;
    fmpq_set_si(hundredth.get(), 1, 100);
    return one(at, out, [&](const ExactValue& value) { return value.times(ExactValue(hundredth)); });
  }

  Outcome quotient(Place at, ExactValue& out) {
    ExactValue a;
    ExactValue b;
    const Outcome outcome = both(at, a, b);
    if (outcome != Outcome::kValue) return outcome;
    if (b.is_zero()) return Outcome::kUndefined;
    if (!work_.spend(2 * a.cost(b) + (b.rational() ? 0 : 3 * b.cost(b)))) return Outcome::kTooLarge;
    const auto inverse = b.inverse();
    auto value = inverse ? a.times(*inverse) : std::nullopt;
    return !value && a.rational() && b.rational() ? Outcome::kTooLarge : keep(std::move(value), out);
  }

  Outcome power(Place at, ExactValue& out) {
    ExactValue base;
    ExactValue exponent;
    const Outcome outcome = both(at, base, exponent);
    if (outcome != Outcome::kValue) return outcome;
    const auto fraction = exponent.rational();
    if (!fraction) return Outcome::kOther;
    if (base.is_zero()) {
      if (fraction->sign() < 0) return Outcome::kUndefined;
      out = ExactValue(Rational(fraction->is_zero() ? 1 : 0));
      return Outcome::kValue;
    }
    if (const auto whole = fraction->small_integer(kLargestExponent)) return whole_power(base, *whole, out);
    if (fraction->is_integer()) return Outcome::kTooLarge;
    return fractional_power(base, *fraction, out);
  }

  Outcome whole_power(const ExactValue& base, long exponent, ExactValue& out) {
    const long cost = base.power_cost(exponent);
    if (!base.rational() && cost > kDearestPower) return Outcome::kOther;
    if (!work_.spend(cost)) return Outcome::kTooLarge;
    auto value = base.to_power(exponent);
    if (!value && base.rational()) return Outcome::kTooLarge;
    return keep(std::move(value), out);
  }

  // value^(n/d), where value has an exact d-th root, or d is 2.
  Outcome fractional_power(const ExactValue& base, const Rational& exponent, ExactValue& out) {
    const auto value = base.rational();
    Rational denominator;
    fmpz_set(fmpq_numref(denominator.get()), exponent.denominator());
    Rational numerator;
    fmpz_set(fmpq_numref(numerator.get()), exponent.numerator());
    const auto index = denominator.small_integer(kLargestIndex);
    const auto times = numerator.small_integer(kLargestExponent);
    if (!value || !index || !times || !work_.spend(1 + value->bits() / 16)) return Outcome::kOther;
    ExactValue root;
    const Outcome outcome = root_of(*value, *index, root);
    return outcome == Outcome::kValue ? whole_power(root, *times, out) : outcome;
  }

  static Outcome root_of(const Rational& value, long index, ExactValue& out) {
    if (const auto exact = exact_root(value, index)) {
      out = ExactValue(*exact);
      return Outcome::kValue;
    }
    if (index != 2) return Outcome::kOther;
    auto root = ExactValue::square_root(value);
    if (!root) return Outcome::kOther;
    out = std::move(*root);
    return Outcome::kValue;
  }

  Outcome root(Place at, ExactValue& out) {
    long index = 2;
    if (tree_.has_right(at)) {
      ExactValue written;
      const Outcome outcome = run(tree_.right(at), written);
      if (outcome != Outcome::kValue) return outcome;
      const auto fraction = written.rational();
      const auto whole = fraction ? fraction->small_integer(kLargestIndex) : std::nullopt;
      if (!whole) return Outcome::kOther;
      if (*whole < 1) return Outcome::kUndefined;
      index = *whole;
    }
    ExactValue radicand;
    const Outcome outcome = run(tree_.left(at), radicand);
    if (outcome != Outcome::kValue) return outcome;
    const auto value = radicand.rational();
    if (!value || !work_.spend(1 + value->bits() / 16)) return Outcome::kOther;
    return root_of(*value, index, out);
  }

  // The value of an argument that must be an integer from 0 to `limit`.
  Outcome count(Place at, long limit, long& out) {
    ExactValue value;
    const Outcome outcome = run(at, value);
    if (outcome != Outcome::kValue) return outcome;
    const auto fraction = value.rational();
    if (!fraction || !fraction->is_integer() || fraction->sign() < 0) return Outcome::kUndefined;
    const auto whole = fraction->small_integer(limit);
    if (!whole) return Outcome::kTooLarge;
    out = *whole;
    return Outcome::kValue;
  }

  Outcome factorial(Place at, ExactValue& out) {
    long n = 0;
    const Outcome outcome = count(tree_.left(at), kLargestFactorial, n);
    if (outcome != Outcome::kValue) return outcome;
    if (!work_.spend(n / 4)) return Outcome::kTooLarge;
    Rational value;
    fmpz_fac_ui(fmpq_numref(value.get()), static_cast<ulong>(n));
    out = ExactValue(std::move(value));
    return Outcome::kValue;
  }

  Outcome binomial(Place at, ExactValue& out) {
    long n = 0;
    long k = 0;
    Outcome outcome = count(tree_.left(at), kLargestBinomial, n);
    if (outcome == Outcome::kValue) outcome = count(tree_.right(at), kLargestBinomial, k);
    if (outcome != Outcome::kValue) return outcome;
    if (k > n) {
      out = ExactValue();
      return Outcome::kValue;
    }
    k = std::min(k, n - k);
    if (k > kLargestChoice || !work_.spend(1 + k)) return Outcome::kTooLarge;
    Rational value;
    fmpz_bin_uiui(fmpq_numref(value.get()), static_cast<ulong>(n), static_cast<ulong>(k));
    out = ExactValue(std::move(value));
    return Outcome::kValue;
  }

  Outcome rounded(Place at, ExactValue& out) {
    ExactValue inner;
    const Outcome outcome = run(tree_.left(at), inner);
    if (outcome != Outcome::kValue) return outcome;
    const auto value = inner.rational();
    if (!value) return Outcome::kOther;
    Rational result;
    fmpz* const whole = fmpq_numref(result.get());
    switch (tree_.kind(at)) {
      case Kind::kFloor: fmpz_fdiv_q(whole, value->numerator(), value->denominator()); break;
      case Kind::kCeiling: fmpz_cdiv_q(whole, value->numerator(), value->denominator()); break;
      default: fmpq_abs(result.get(), value->get());
    }
    out = ExactValue(std::move(result));
    return Outcome::kValue;
  }

  Outcome function(Place at, ExactValue& out) {
    const Function function = tree_[at].function();
    if (function < Function::kGcd) return undefined_inside(at);
    std::optional<Rational> folded;
    for (const Place child : tree_.children(at)) {
      ExactValue value;
      const Outcome outcome = run(child, value);
      if (outcome != Outcome::kValue) return outcome;
      const auto next = value.rational();
      if (!next) return Outcome::kOther;
      if (!folded) {
        folded = next;
      } else if (!fold(function, *next, *folded)) {
        return Outcome::kUndefined;
      }
      if (folded->bits() > kMostBits) return Outcome::kTooLarge;
    }
    out = ExactValue(*folded);
    return Outcome::kValue;
  }

  // gcd, lcm, max, min of one more number; false if it has none.
  static bool fold(Function function, const Rational& next, Rational& folded) {
    const bool divisors = function == Function::kGcd || function == Function::kLcm;
    if (divisors && !(next.is_integer() && folded.is_integer())) return false;
    fmpz* const whole = fmpq_numref(folded.get());
    const int order = fmpq_cmp(next.get(), folded.get());
    if (function == Function::kGcd) fmpz_gcd(whole, whole, next.numerator());
    if (function == Function::kLcm) fmpz_lcm(whole, whole, next.numerator());
    if ((function == Function::kMax && order > 0) || (function == Function::kMin && order < 0)) folded = next;
    return true;
  }

  // Sines and logarithms are no such sums, but what they are taken of may be undefined or too large.
  Outcome undefined_inside(Place at) {
    for (const Place child : tree_.children(at)) {
      ExactValue value;
      const Outcome outcome = run(child, value);
      if (outcome == Outcome::kUndefined || outcome == Outcome::kTooLarge) return outcome;
    }
    return Outcome::kOther;
  }

  const Tree& tree_;
  Work& work_;
};

}  // namespace

Outcome evaluate_exactly(const Tree& tree, Place at, Work& work, ExactValue& out) {
  return Evaluation(tree, work).run(at, out);
}

}  // namespace math_answers
