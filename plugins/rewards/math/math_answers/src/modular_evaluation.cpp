#include "evaluation.h"

#include <flint/ulong_extras.h>

namespace math_answers {
namespace {

// The largest Mersenne prime, and the largest prime, below 2^62.
constexpr std::uint64_t kPrimes[] = {(1ull << 61) - 1, (1ull << 62) - 57};
constexpr long kLargestExponent = 1'000'000;
constexpr std::uint64_t kLargestDegree = 1ull << 32;

struct Residue {
  std::uint64_t value = 0;
  std::uint64_t degree = 0;  // of numerator and denominator, at most
};

class Evaluation {
 public:
  Evaluation(const Tree& tree, unsigned draw, Work& work)
      : tree_(tree), draw_(draw), prime_(prime_of_draw(draw)), work_(work) {}

  Outcome run(Place at, Residue& out) {
    if (!work_.spend(1)) return Outcome::kTooLarge;
    switch (tree_.kind(at)) {
      case Kind::kSymbol: return drawn(identity(tree_, at), out);
      case Kind::kPi:
      case Kind::kEuler: return drawn(mix(static_cast<std::uint64_t>(tree_.kind(at))), out);
      case Kind::kDegrees: return run(tree_.left(at), out);
      case Kind::kNegate: {
        const Outcome outcome = run(tree_.left(at), out);
        out.value = out.value == 0 ? 0 : prime_ - out.value;
        return outcome;
      }
      case Kind::kSum:
      case Kind::kProduct:
      case Kind::kQuotient: return combined(at, out);
      case Kind::kPower: return power(at, out);
      case Kind::kCall: {
        Residue argument;
        const Outcome outcome = run(tree_.left(at), argument);
        if (outcome != Outcome::kValue) return outcome;
        std::uint64_t name = 0;
        for (const char c : tree_[at].text) name = mix(name ^ static_cast<std::uint64_t>(c));
        return drawn(mix(name) ^ mix(argument.value), out);
      }
      default: return constant(at, out);
    }
  }

 private:
  Outcome drawn(std::uint64_t identity, Residue& out) const {
    out = {mix(identity ^ mix(draw_)) % prime_, 1};
    return Outcome::kValue;
  }

  std::uint64_t times(std::uint64_t a, std::uint64_t b) const { return multiply_modulo(a, b, prime_); }

  bool invert(std::uint64_t& value) const {
    if (value == 0) return false;
    value = n_invmod(value, prime_);
    return true;
  }

  Outcome combined(Place at, Residue& out) {
    Residue a;
    Residue b;
    Outcome outcome = run(tree_.left(at), a);
    if (outcome == Outcome::kValue) outcome = run(tree_.right(at), b);
    if (outcome != Outcome::kValue) return outcome;
    out.degree = a.degree + b.degree;
    if (out.degree > kLargestDegree) return Outcome::kTooLarge;
    switch (tree_.kind(at)) {
      case Kind::kSum: out.value = (a.value + b.value) % prime_; return Outcome::kValue;
      case Kind::kQuotient:
        if (!invert(b.value)) return Outcome::kUndefined;
        [[fallthrough]];
      default: out.value = times(a.value, b.value); return Outcome::kValue;
    }
  }

  Outcome power(Place at, Residue& out) {
    ExactValue written;
    const Outcome known = evaluate_exactly(tree_, tree_.right(at), work_, written);
    if (known != Outcome::kValue) return known;
    const auto fraction = written.rational();
    if (!fraction || !fraction->is_integer()) return constant(at, out);
    const auto exponent = fraction->small_integer(kLargestExponent);
    if (!exponent) return Outcome::kTooLarge;
    Residue base;
    const Outcome outcome = run(tree_.left(at), base);
    if (outcome != Outcome::kValue) return outcome;
    auto left = static_cast<std::uint64_t>(*exponent < 0 ? -*exponent : *exponent);
    if (*exponent < 0 && !invert(base.value)) return Outcome::kUndefined;
    out.degree = base.degree * left;
    if (base.degree > kLargestDegree || out.degree > kLargestDegree) return Outcome::kTooLarge;
    out.value = n_powmod2(base.value, static_cast<slong>(left), prime_);
    return Outcome::kValue;
  }

  // What has no variables, if it is a fraction.
  Outcome constant(Place at, Residue& out) {
    ExactValue value;
    const Outcome outcome = evaluate_exactly(tree_, at, work_, value);
    if (outcome != Outcome::kValue) return outcome;
    const auto fraction = value.rational();
    if (!fraction) return Outcome::kOther;
    std::uint64_t below = fmpz_fdiv_ui(fraction->denominator(), prime_);
    if (!invert(below)) return Outcome::kUndefined;
    out = {times(fmpz_fdiv_ui(fraction->numerator(), prime_), below), 0};
    return Outcome::kValue;
  }

  const Tree& tree_;
  unsigned draw_;
  std::uint64_t prime_;
  Work& work_;
};

}  // namespace

std::uint64_t prime_of_draw(unsigned draw) { return kPrimes[draw % 2]; }

std::uint64_t multiply_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t prime) { return n_mulmod2(a, b, prime); }

Outcome evaluate_modulo(const Tree& tree, Place at, unsigned draw, Work& work, std::uint64_t& out) {
  Residue residue;
  const Outcome outcome = Evaluation(tree, draw, work).run(at, residue);
  out = residue.value;
  return outcome;
}

Outcome equal_modulo(const Tree& tree, Place a, Place b, Work& work, bool& equal) {
  unsigned points = 0;
  for (unsigned draw = 0; draw < kModularDraws && points < kModularPoints; ++draw) {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    const Outcome one = evaluate_modulo(tree, a, draw, work, left);
    if (one == Outcome::kOther || one == Outcome::kTooLarge) return one;
    const Outcome other = evaluate_modulo(tree, b, draw, work, right);
    if (other == Outcome::kOther || other == Outcome::kTooLarge) return other;
    if (one == Outcome::kUndefined || other == Outcome::kUndefined) continue;
    if (left != right) {
      equal = false;
      return Outcome::kValue;
    }
    ++points;
  }
  equal = true;
  return points == kModularPoints ? Outcome::kValue : Outcome::kUndefined;
}

}  // namespace math_answers
