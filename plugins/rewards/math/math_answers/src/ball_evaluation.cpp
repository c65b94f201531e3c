#include "evaluation.h"

#include <optional>
#include <utility>

namespace math_answers {
namespace {

// Bits before the point: of what a function is taken of, the gamma function, and of what is raised to a power.
constexpr slong kLargestArgument = 64;
constexpr slong kLargestGamma = 12;
constexpr slong kLargestBase = 1 << 17;
constexpr long kLargestExponent = 1L << 20;
constexpr long kLargestIndex = 1000;

class Evaluation {
 public:
  Evaluation(const Tree& tree, SamplePoint point, slong precision, Work& work, Magnitude& scale)
      : tree_(tree), point_(point), precision_(precision), work_(work), scale_(scale) {}

  Outcome run(Place at, Ball& out) {
    if (!spend(1)) return Outcome::kTooLarge;
    const Outcome outcome = value(at, out);
    if (outcome != Outcome::kValue) return outcome;
    if (!acb_is_finite(out.get()) || (point_.real && !out.is_real())) return Outcome::kUndefined;
    Magnitude magnitude;
    acb_get_mag(magnitude.get(), out.get());
    mag_max(scale_.get(), scale_.get(), magnitude.get());
    return Outcome::kValue;
  }

 private:
  bool spend(long operations) { return work_.spend(operations * (precision_ / 128)); }

  Outcome value(Place at, Ball& out) {
    switch (tree_.kind(at)) {
      case Kind::kSymbol: return drawn(identity(tree_, at), out);
      case Kind::kPi: arb_const_pi(out.real(), precision_); return Outcome::kValue;
      case Kind::kEuler: arb_const_e(out.real(), precision_); return Outcome::kValue;
      case Kind::kImaginary: acb_onei(out.get()); return Outcome::kValue;
      case Kind::kNegate: {
        const Outcome outcome = run(tree_.left(at), out);
        acb_neg(out.get(), out.get());
        return outcome;
      }
      case Kind::kDegrees: return degrees(at, out);
      case Kind::kPercent: {
        const Outcome outcome = run(tree_.left(at), out);
        acb_div_si(out.get(), out.get(), 100, precision_);
        return outcome;
      }
      case Kind::kSum:
      case Kind::kProduct:
      case Kind::kQuotient: return combined(at, out);
      case Kind::kPower: return power(at, out);
      case Kind::kRoot: return root(at, out);
      case Kind::kAbsolute:
      case Kind::kFloor:
      case Kind::kCeiling: return rounded(at, out);
      case Kind::kFunction: return function(at, out);
      case Kind::kCall: return call(at, out);
      case Kind::kFactorial: return factorial(at, out);
      case Kind::kBinomial: return binomial(at, out);
      default: return exact(at, out);
    }
  }

  // Numbers, factorials, and what else has an exact value.
  Outcome exact(Place at, Ball& out) {
    const auto fraction = fraction_of(at);
    if (!fraction) return Outcome::kUndefined;
    arb_set_fmpq(out.real(), fraction->get(), precision_);
    return Outcome::kValue;
  }

  std::optional<Rational> fraction_of(Place at) {
    if (has_variables(tree_, at)) return std::nullopt;
    ExactValue value;
    if (evaluate_exactly(tree_, at, work_, value) != Outcome::kValue) return std::nullopt;
    return value.rational();
  }

  // Of whole numbers exactly, of others by the gamma function.
  Outcome factorial(Place at, Ball& out) {
    if (!has_variables(tree_, at)) return exact(at, out);
    const Outcome outcome = run(tree_.left(at), out);
    return outcome == Outcome::kValue ? gamma_behind(out) : outcome;
  }

  Outcome binomial(Place at, Ball& out) {
    if (!has_variables(tree_, at)) return exact(at, out);
    Ball lower;
    Outcome outcome = two(at, out, lower);
    if (outcome != Outcome::kValue) return outcome;
    Ball rest;
    acb_sub(rest.get(), out.get(), lower.get(), precision_);
    for (Ball* const part : {&out, &lower, &rest}) {
      outcome = gamma_behind(*part);
      if (outcome != Outcome::kValue) return outcome;
    }
    acb_mul(lower.get(), lower.get(), rest.get(), precision_);
    if (acb_contains_zero(lower.get())) return Outcome::kUndefined;
    acb_div(out.get(), out.get(), lower.get(), precision_);
    return Outcome::kValue;
  }

  // x! is gamma(x + 1).
  Outcome gamma_behind(Ball& value) {
    if (!spend(64) || !below(value, kLargestGamma)) return Outcome::kTooLarge;
    acb_add_si(value.get(), value.get(), 1, precision_);
    acb_gamma(value.get(), value.get(), precision_);
    return acb_is_finite(value.get()) ? Outcome::kValue : Outcome::kUndefined;
  }

  // From 0.1 to 3, in steps of 2^-20.
  Outcome drawn(std::uint64_t identity, Ball& out) const {
    constexpr std::uint64_t kLow = (1u << 20) / 10;
    constexpr std::uint64_t kHigh = 3u << 20;
    const auto steps = static_cast<slong>(kLow + mix(identity ^ mix(point_.number)) % (kHigh - kLow));
    arb_set_si(out.real(), point_.negative ? -steps : steps);
    arb_mul_2exp_si(out.real(), out.real(), point_.stretch - 20);
    return Outcome::kValue;
  }

  Outcome degrees(Place at, Ball& out) {
    const Outcome outcome = run(tree_.left(at), out);
    if (outcome != Outcome::kValue || !in_angle_) return outcome;
    Ball pi;
    arb_const_pi(pi.real(), precision_);
    acb_mul_arb(out.get(), out.get(), pi.real(), precision_);
    acb_div_si(out.get(), out.get(), 180, precision_);
    return outcome;
  }

  Outcome two(Place at, Ball& a, Ball& b) {
    const Outcome outcome = run(tree_.left(at), a);
    return outcome == Outcome::kValue ? run(tree_.right(at), b) : outcome;
  }

  Outcome combined(Place at, Ball& out) {
    Ball other;
    const Outcome outcome = two(at, out, other);
    if (outcome != Outcome::kValue) return outcome;
    switch (tree_.kind(at)) {
      case Kind::kSum: acb_add(out.get(), out.get(), other.get(), precision_); break;
      case Kind::kProduct: acb_mul(out.get(), out.get(), other.get(), precision_); break;
      default:
        if (acb_contains_zero(other.get())) return Outcome::kUndefined;
        acb_div(out.get(), out.get(), other.get(), precision_);
    }
    return Outcome::kValue;
  }

  Outcome power(Place at, Ball& out) {
    const auto fraction = fraction_of(tree_.right(at));
    if (!fraction) return general_power(at, out);
    const Outcome outcome = run(tree_.left(at), out);
    if (outcome != Outcome::kValue) return outcome;
    if (!spend(8)) return Outcome::kTooLarge;
    if (fraction->is_integer()) {
      const auto exponent = fraction->small_integer(kLargestExponent);
      if (!exponent || !below(out, kLargestBase)) return Outcome::kTooLarge;
      if (*exponent < 0 && acb_contains_zero(out.get())) return Outcome::kUndefined;
      acb_pow_si(out.get(), out.get(), *exponent, precision_);
      return Outcome::kValue;
    }
    Rational index;
    fmpz_set(fmpq_numref(index.get()), fraction->denominator());
    const bool real_root = fmpz_is_odd(fraction->denominator()) != 0 && is_negative(out);
    const bool negative = real_root && fmpz_is_odd(fraction->numerator()) != 0;
    if (real_root) acb_neg(out.get(), out.get());
    Ball exponent;
    arb_set_fmpq(exponent.real(), fraction->get(), precision_);
    const Outcome raised = raise(out, exponent);
    if (negative) acb_neg(out.get(), out.get());
    return raised;
  }

  Outcome general_power(Place at, Ball& out) {
    Ball exponent;
    const Outcome outcome = two(at, out, exponent);
    return outcome == Outcome::kValue ? raise(out, exponent) : outcome;
  }

  Outcome raise(Ball& base, const Ball& exponent) {
    if (!spend(16) || !below(exponent, kLargestArgument) || !below(base, kLargestBase)) return Outcome::kTooLarge;
    if (acb_is_zero(base.get())) return arb_is_positive(exponent.real()) ? Outcome::kValue : Outcome::kUndefined;
    acb_pow(base.get(), base.get(), exponent.get(), precision_);
    return Outcome::kValue;
  }

  static bool is_negative(const Ball& value) { return value.is_real() && arb_is_negative(value.real()); }

  // The real root of a negative number where the index is odd, as schools have it.
  Outcome root(Place at, Ball& out) {
    long index = 2;
    if (tree_.has_right(at)) {
      const auto fraction = fraction_of(tree_.right(at));
      if (!fraction) return root_of_any_index(at, out);
      const auto whole = fraction->small_integer(kLargestIndex);
      if (!whole || *whole < 1) return Outcome::kUndefined;
      index = *whole;
    }
    const Outcome outcome = run(tree_.left(at), out);
    if (outcome != Outcome::kValue) return outcome;
    if (!spend(4)) return Outcome::kTooLarge;
    const bool negative = index % 2 == 1 && is_negative(out);
    if (negative) acb_neg(out.get(), out.get());
    acb_root_ui(out.get(), out.get(), static_cast<ulong>(index), precision_);
    if (negative) acb_neg(out.get(), out.get());
    return Outcome::kValue;
  }

  Outcome root_of_any_index(Place at, Ball& out) {
    Ball index;
    const Outcome outcome = two(at, out, index);
    if (outcome != Outcome::kValue) return outcome;
    if (acb_contains_zero(index.get())) return Outcome::kUndefined;
    acb_inv(index.get(), index.get(), precision_);
    return raise(out, index);
  }

  Outcome rounded(Place at, Ball& out) {
    const Outcome outcome = run(tree_.left(at), out);
    if (outcome != Outcome::kValue) return outcome;
    if (tree_.kind(at) == Kind::kAbsolute) {
      acb_abs(out.real(), out.get(), precision_);
      arb_zero(acb_imagref(out.get()));
      return Outcome::kValue;
    }
    if (!out.is_real()) return Outcome::kUndefined;
    (tree_.kind(at) == Kind::kFloor ? arb_floor : arb_ceil)(out.real(), out.real(), precision_);
    return arb_is_exact(out.real()) ? Outcome::kValue : Outcome::kUndefined;
  }

  static bool below(const Ball& value, slong bits) {
    Magnitude magnitude;
    acb_get_mag(magnitude.get(), value.get());
    return mag_cmp_2exp_si(magnitude.get(), bits) <= 0;
  }

  Outcome function(Place at, Ball& out) {
    const Function function = tree_[at].function();
    if (function >= Function::kGcd) return exact(at, out);
    const bool outer = std::exchange(in_angle_, function <= Function::kCsc);
    const Outcome outcome = run(tree_.left(at), out);
    in_angle_ = outer;
    if (outcome != Outcome::kValue) return outcome;
    if (!spend(16) || !below(out, kLargestBase)) return Outcome::kTooLarge;
    if (function == Function::kLn || function == Function::kLog) return logarithm(at, out);
    if (!below(out, kLargestArgument)) return Outcome::kTooLarge;
    apply(function, out);
    return Outcome::kValue;
  }

  Outcome logarithm(Place at, Ball& out) {
    if (acb_contains_zero(out.get())) return Outcome::kUndefined;
    acb_log(out.get(), out.get(), precision_);
    if (tree_[at].function() == Function::kLn) return Outcome::kValue;
    Ball base;
    if (tree_.has_right(at)) {
      const Outcome outcome = run(tree_.right(at), base);
      if (outcome != Outcome::kValue) return outcome;
      if (acb_contains_zero(base.get()) || !below(base, kLargestBase)) return Outcome::kUndefined;
    } else {
      acb_set_si(base.get(), 10);
    }
    acb_log(base.get(), base.get(), precision_);
    if (acb_contains_zero(base.get())) return Outcome::kUndefined;
    acb_div(out.get(), out.get(), base.get(), precision_);
    return Outcome::kValue;
  }

  void apply(Function function, Ball& ball) const {
    acb_struct* const x = ball.get();
    const slong p = precision_;
    switch (function) {
      case Function::kSin: return acb_sin(x, x, p);
      case Function::kCos: return acb_cos(x, x, p);
      case Function::kTan: return acb_tan(x, x, p);
      case Function::kCot: return acb_cot(x, x, p);
      case Function::kSec: return acb_sec(x, x, p);
      case Function::kCsc: return acb_csc(x, x, p);
      case Function::kArccot: acb_inv(x, x, p); [[fallthrough]];
      case Function::kArctan: return acb_atan(x, x, p);
      case Function::kArccsc: acb_inv(x, x, p); [[fallthrough]];
      case Function::kArcsin: return acb_asin(x, x, p);
      case Function::kArcsec: acb_inv(x, x, p); [[fallthrough]];
      case Function::kArccos: return acb_acos(x, x, p);
      case Function::kSinh: return acb_sinh(x, x, p);
      case Function::kCosh: return acb_cosh(x, x, p);
      case Function::kTanh: return acb_tanh(x, x, p);
      case Function::kCoth: return acb_coth(x, x, p);
      case Function::kSech: return acb_sech(x, x, p);
      case Function::kCsch: return acb_csch(x, x, p);
      default: return acb_indeterminate(x);
    }
  }

  // A function that nothing is known about: sin(c x + c), c from its name, is as good as any.
  Outcome call(Place at, Ball& out) {
    const Outcome outcome = run(tree_.left(at), out);
    if (outcome != Outcome::kValue) return outcome;
    if (!spend(16) || !below(out, kLargestArgument)) return Outcome::kTooLarge;
    std::uint64_t name = 0;
    for (const char c : tree_[at].text) name = mix(name ^ static_cast<std::uint64_t>(c));
    Ball factor;
    drawn(name, factor);
    arb_abs(factor.real(), factor.real());
    acb_mul(out.get(), out.get(), factor.get(), precision_);
    acb_add(out.get(), out.get(), factor.get(), precision_);
    acb_sin(out.get(), out.get(), precision_);
    return Outcome::kValue;
  }

  const Tree& tree_;
  SamplePoint point_;
  slong precision_;
  Work& work_;
  Magnitude& scale_;
  bool in_angle_ = false;  // within a trigonometric function, where degrees are converted
};

}  // namespace

Outcome evaluate_ball(const Tree& tree, Place at, SamplePoint point, slong precision, Work& work, Ball& out,
                      Magnitude& scale) {
  return Evaluation(tree, point, precision, work, scale).run(at, out);
}

bool within(const Ball& value, const Magnitude& scale, slong bits) {
  Magnitude magnitude;
  acb_get_mag(magnitude.get(), value.get());
  Magnitude limit;
  mag_mul_2exp_si(limit.get(), scale.get(), bits);
  return mag_cmp(magnitude.get(), limit.get()) <= 0;
}

}  // namespace math_answers
