#include "comparison.h"
#include "evaluation.h"

#include <initializer_list>

namespace math_answers {
namespace {

constexpr slong kPrecisions[] = {128, 1024};
constexpr slong kDecided = -900;  // bits relative to the largest number on the way: no closer numbers can be written
constexpr slong kSamplePrecision = 256;
constexpr slong kSampleDecided = -200;
constexpr unsigned kPositivePoints = 8;
constexpr unsigned kNegativePoints = 4;
constexpr unsigned kFarPoints = 8;  // where too few others count, as for \sqrt{x-3}
constexpr slong kFar = 4;           // 16 times as far from zero
constexpr int kFewestPoints = 4;

// Whether the whole answer is a decimal, perhaps with a sign or as a percentage.
bool is_decimal(const Tree& tree, Place at) {
  switch (tree.kind(at)) {
    case Kind::kNegate:
    case Kind::kPercent:
    case Kind::kDegrees: return is_decimal(tree, tree.left(at));
    case Kind::kNumber: {
      const std::string_view digits = tree[at].text;
      return digits.find_first_of(".E") != std::string_view::npos && digits.find('(') == std::string_view::npos;
    }
    default: return false;
  }
}

// floor(|value| * 10^places + 1/2)
void rounded(const Rational& value, int places, fmpz* out) {
  Rational scaled(10);
  fmpq_pow_si(scaled.get(), scaled.get(), places);
  fmpq_mul(scaled.get(), scaled.get(), value.get());
  fmpq_abs(scaled.get(), scaled.get());
  Rational half;
  fmpq_set_si(half.get(), 1, 2);
  fmpq_add(scaled.get(), scaled.get(), half.get());
  fmpz_fdiv_q(out, scaled.numerator(), scaled.denominator());
}

bool rounded(const Ball& value, int places, fmpz* out) {
  Magnitude magnitude;
  acb_get_mag(magnitude.get(), value.get());
  if (mag_cmp_2exp_si(magnitude.get(), kMostBits) > 0) return false;
  Ball scaled;
  arb_ui_pow_ui(scaled.real(), 10, static_cast<ulong>(places), kPrecisions[1]);
  arb_mul(scaled.real(), scaled.real(), value.real(), kPrecisions[1]);
  arb_abs(scaled.real(), scaled.real());
  Ball half;
  arb_set_d(half.real(), 0.5);
  arb_add(scaled.real(), scaled.real(), half.real(), kPrecisions[1]);
  arb_floor(scaled.real(), scaled.real(), kPrecisions[1]);
  return arb_get_unique_fmpz(out, scaled.real()) != 0;
}

// How many digits a decimal needs behind the point; -1 for very many.
int places_of(const Rational& decimal) {
  constexpr int kMostPlaces = 40;
  Rational scaled = decimal;
  for (int places = 0; places <= kMostPlaces; ++places) {
    if (scaled.is_integer()) return places;
    fmpq_mul_si(scaled.get(), scaled.get(), 10);
  }
  return -1;
}

class Constants {
 public:
  Constants(const Tree& tree, Place truth, Place prediction, const Options& options, Work& work)
      : tree_(tree), truth_(truth), prediction_(prediction), options_(options), work_(work) {}

  Finding run() {
    ExactValue wanted;
    ExactValue given;
    const Outcome truth = evaluate_exactly(tree_, truth_, work_, wanted);
    const Outcome prediction = evaluate_exactly(tree_, prediction_, work_, given);
    for (const Outcome outcome : {truth, prediction}) {
      if (outcome == Outcome::kUndefined) return {false, "undefined"};
      if (outcome == Outcome::kTooLarge) return {false, "too large to compute"};
    }
    if (truth == Outcome::kValue && prediction == Outcome::kValue) {
      const bool rational = wanted.rational() && given.rational();
      if (wanted == given) return {true, rational ? "as rational numbers" : "as exact numbers"};
      if (!one_is_decimal()) return {false, ""};
    }
    if (one_is_decimal()) {
      const bool truth_is_decimal = is_decimal(tree_, truth_);
      const auto decimal = (truth_is_decimal ? wanted : given).rational();
      return round(*decimal, truth_is_decimal ? prediction_ : truth_);
    }
    return bounds();
  }

 private:
  bool one_is_decimal() const {
    return options_.decimal_places >= 0 && is_decimal(tree_, truth_) != is_decimal(tree_, prediction_);
  }

  // To the places that count; or to all places of a decimal with more of them, as 16.1245155 and 16.12451549 are the
  // same number to seven places, yet not to six. A number that is not zero never rounds to zero.
  Finding round(const Rational& decimal, Place other) {
    ExactValue exact;
    const bool known = evaluate_exactly(tree_, other, work_, exact) == Outcome::kValue;
    const auto fraction = known ? exact.rational() : std::nullopt;
    Ball value;
    if (fraction) {
      arb_set_fmpq(value.real(), fraction->get(), kPrecisions[1]);
    } else {
      Magnitude scale;
      if (evaluate_ball(tree_, other, {}, kPrecisions[1], work_, value, scale) != Outcome::kValue) return {false, ""};
    }
    const bool same_sign = decimal.sign() < 0 ? arb_is_negative(value.real()) : arb_is_positive(value.real());
    if (!arb_contains_zero(acb_imagref(value.get())) || !same_sign) return {false, ""};
    for (const int places : {options_.decimal_places, places_of(decimal)}) {
      if (places < options_.decimal_places) continue;
      Rational a;
      Rational b;
      rounded(decimal, places, fmpq_numref(a.get()));
      const bool certain = fraction ? (rounded(*fraction, places, fmpq_numref(b.get())), true)
                                    : rounded(value, places, fmpq_numref(b.get()));
      if (certain && !a.is_zero() && a == b) return {true, "to the places that count of a decimal"};
    }
    return {false, ""};
  }

  Finding bounds() {
    for (const slong precision : kPrecisions) {
      Ball wanted;
      Ball given;
      Magnitude scale;
      const Outcome truth = evaluate_ball(tree_, truth_, {}, precision, work_, wanted, scale);
      const Outcome prediction = evaluate_ball(tree_, prediction_, {}, precision, work_, given, scale);
      if (truth == Outcome::kTooLarge || prediction == Outcome::kTooLarge) return {false, "too large to compute"};
      if (truth != Outcome::kValue || prediction != Outcome::kValue) continue;
      acb_sub(wanted.get(), wanted.get(), given.get(), precision);
      if (!acb_contains_zero(wanted.get())) return {false, ""};
      if (within(wanted, scale, kDecided)) return {true, "numerically, to 900 bits"};
    }
    return {false, "not shown to be equal"};
  }

  const Tree& tree_;
  Place truth_;
  Place prediction_;
  const Options& options_;
  Work& work_;
};

enum class Agreement { kSame, kDifferent, kSkipped, kOneSided };

Agreement at_point(const Tree& tree, Place a, Place b, SamplePoint point, slong precision, Work& work) {
  Ball left;
  Ball right;
  Magnitude scale;
  const Outcome one = evaluate_ball(tree, a, point, precision, work, left, scale);
  const Outcome other = evaluate_ball(tree, b, point, precision, work, right, scale);
  const bool left_counts = one == Outcome::kValue;
  const bool right_counts = other == Outcome::kValue;
  if (!left_counts || !right_counts) return left_counts || right_counts ? Agreement::kOneSided : Agreement::kSkipped;
  acb_sub(left.get(), left.get(), right.get(), precision);
  if (!acb_contains_zero(left.get())) return Agreement::kDifferent;
  return within(left, scale, kSampleDecided) ? Agreement::kSame : Agreement::kSkipped;
}

// Where both are real, they must agree, for positive variables and for negative ones; at one point by more bits, as x
// and x + 10^{-90} do not.
Finding compare_at_points(const Tree& tree, Place a, Place b, Work& work) {
  const bool complex = contains(tree, a, Kind::kImaginary) || contains(tree, b, Kind::kImaginary);
  int same = 0;
  int one_sided = 0;
  constexpr unsigned kNearPoints = kPositivePoints + kNegativePoints;
  for (unsigned i = 0; i < kNearPoints || (i < kNearPoints + kFarPoints && same < kFewestPoints); ++i) {
    const bool negative = i >= kPositivePoints && i < kNearPoints;
    const slong precision = i + 1 == kPositivePoints ? kPrecisions[1] : kSamplePrecision;
    switch (at_point(tree, a, b, {i, negative, i < kNearPoints ? 0 : kFar, !complex}, precision, work)) {
      case Agreement::kSame: ++same; break;
      case Agreement::kDifferent: return {false, ""};
      case Agreement::kOneSided: ++one_sided; break;
      case Agreement::kSkipped: break;
    }
    if (work.exhausted()) return {false, "too much to compute"};
  }
  const bool equal = same >= kFewestPoints && 2 * one_sided <= static_cast<int>(kNearPoints);
  return {equal, equal ? "at pseudo-random points" : "not shown to be equal"};
}

}  // namespace

Finding compare_scalars(const Tree& tree, Place truth, Place prediction, const Options& options, Work& work) {
  if (!has_variables(tree, truth) && !has_variables(tree, prediction)) {
    return Constants(tree, truth, prediction, options, work).run();
  }
  return compare_at_points(tree, truth, prediction, work);
}

std::optional<int> order(const Tree& tree, Place a, Place b, Work& work) {
  if (has_variables(tree, a) || has_variables(tree, b)) return std::nullopt;
  ExactValue left;
  ExactValue right;
  const bool exact = evaluate_exactly(tree, a, work, left) == Outcome::kValue &&
                     evaluate_exactly(tree, b, work, right) == Outcome::kValue;
  if (exact && left == right) return 0;
  const auto x = left.rational();
  const auto y = right.rational();
  if (exact && x && y) return fmpq_cmp(x->get(), y->get());
  for (const slong precision : kPrecisions) {
    Ball one;
    Ball other;
    Magnitude scale;
    if (evaluate_ball(tree, a, {}, precision, work, one, scale) != Outcome::kValue ||
        evaluate_ball(tree, b, {}, precision, work, other, scale) != Outcome::kValue) {
      continue;
    }
    if (!one.is_real() || !other.is_real()) return std::nullopt;
    acb_sub(one.get(), one.get(), other.get(), precision);
    if (arb_is_positive(one.real())) return 1;
    if (arb_is_negative(one.real())) return -1;
    if (within(one, scale, kDecided)) return 0;
  }
  return std::nullopt;
}

}  // namespace math_answers
