#include "polynomials.h"

#include <cstddef>

namespace math_answers {
namespace {

using Found = std::optional<Polynomial>;

class Expander {
 public:
  explicit Expander(Tree& tree) : tree_(tree) {}

  Found read(Place at) {
    if (!has_variables(tree_, at)) return constant(tree_.share(at));
    switch (tree_.kind(at)) {
      case Kind::kSymbol: return Polynomial{{kNone, tree_.add(Kind::kNumber, 0, "1"), kNone}};
      case Kind::kNegate: return negated(read(tree_.left(at)));
      case Kind::kSum: return sum(read(tree_.left(at)), read(tree_.right(at)));
      case Kind::kProduct: return product(read(tree_.left(at)), read(tree_.right(at)));
      case Kind::kQuotient: return quotient(read(tree_.left(at)), tree_.right(at));
      case Kind::kPower: return power(at);
      case Kind::kAbsolute: return absolute(read(tree_.left(at)));
      default: return std::nullopt;
    }
  }

  Found negated(Found a) {
    if (!a) return std::nullopt;
    for (Place& one : a->coefficients) one = one == kNone ? kNone : tree_.add(Kind::kNegate, one);
    if (a->factor != kNone) a->factor = tree_.add(Kind::kNegate, a->factor);
    return a;
  }

  Found sum(Found a, const Found& b) {
    if (!a || !b || (a->factor != kNone && b->factor != kNone)) return std::nullopt;
    for (std::size_t i = 0; i < 3; ++i) a->coefficients[i] = plus(a->coefficients[i], b->coefficients[i]);
    if (b->factor != kNone) {
      a->factor = b->factor;
      a->inside = b->inside;
    }
    return a;
  }

 private:
  static Found constant(Place value) { return Polynomial{{value, kNone, kNone}}; }

  Place plus(Place a, Place b) {
    if (a == kNone || b == kNone) return a == kNone ? b : a;
    return tree_.add(Kind::kSum, tree_.share(a), tree_.share(b));
  }

  Place times(Place a, Place b) {
    if (a == kNone || b == kNone) return kNone;
    return tree_.add(Kind::kProduct, tree_.share(a), tree_.share(b));
  }

  Found product(const Found& a, const Found& b) {
    if (!a || !b || a->degree() + b->degree() > 2) return std::nullopt;
    const bool has_bars = a->factor != kNone || b->factor != kNone;
    if (has_bars && (a->degree() > 0 || b->degree() > 0 || (a->factor != kNone && b->factor != kNone))) {
      return std::nullopt;
    }
    Polynomial result;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; i + j < 3; ++j) {
        result.coefficients[i + j] = plus(result.coefficients[i + j], times(a->coefficients[i], b->coefficients[j]));
      }
    }
    if (has_bars) {
      const Polynomial& barred = a->factor != kNone ? *a : *b;
      result.factor = times(barred.factor, (a->factor != kNone ? *b : *a).coefficients[0]);
      result.inside = barred.inside;
    }
    return result;
  }

  Found quotient(const Found& above, Place below) {
    if (has_variables(tree_, below)) return std::nullopt;
    const Place inverse = tree_.add(Kind::kQuotient, tree_.add(Kind::kNumber, 0, "1"), tree_.share(below));
    return product(above, constant(inverse));
  }

  Found power(Place at) {
    const Place exponent = tree_.right(at);
    if (tree_.kind(exponent) != Kind::kNumber || tree_[exponent].text != "2") return std::nullopt;
    const Found base = read(tree_.left(at));
    return product(base, base);
  }

  Found absolute(const Found& inside) {
    if (!inside || inside->factor != kNone || inside->degree() != 1) return std::nullopt;
    Polynomial result;
    result.factor = tree_.add(Kind::kNumber, 0, "1");
    result.inside = {inside->coefficients[0], inside->coefficients[1]};
    return result;
  }

  Tree& tree_;
};

// Sets `found` to the first variable. False if there is another one, or a function that nothing is known about.
bool find_variable(const Tree& tree, Place at, Place& found) {
  if (tree.kind(at) == Kind::kCall) return false;
  if (tree.kind(at) == Kind::kSymbol) {
    if (found == kNone) found = at;
    return identity(tree, found) == identity(tree, at);
  }
  for (Place child = tree[at].first; child != kNone; child = tree[child].next) {
    if (!find_variable(tree, child, found)) return false;
  }
  return true;
}

}  // namespace

Place only_variable(const Tree& tree, Place at) {
  Place found = kNone;
  return find_variable(tree, at, found) ? found : kNone;
}

std::optional<Polynomial> difference_polynomial(Tree& tree, Place left, Place right) {
  Expander expander(tree);
  return expander.sum(expander.read(left), expander.negated(expander.read(right)));
}

}  // namespace math_answers
