#include "comparison.h"
#include "polynomials.h"

#include <algorithm>
#include <utility>

namespace math_answers {
namespace {

// Thrown where two bounds cannot be put in order.
struct NoOrder {};

constexpr Cut kBegin = {kNone, -1, true};
constexpr Cut kEnd = {kNone, 1, false};

enum class Operation { kUnion, kIntersection, kDifference };

class Reader {
 public:
  Reader(Tree& tree, Work& work) : tree_(tree), work_(work) {}

  std::optional<RealSet> read(Place at) {
    switch (tree_.kind(at)) {
      case Kind::kReals: return RealSet{kBegin, kEnd};
      case Kind::kInterval:
        return interval(cut(tree_.left(at), (tree_[at].detail & kLowClosed) == 0),
                        cut(tree_.right(at), (tree_[at].detail & kHighClosed) != 0));
      case Kind::kTuple:
        if (tree_.count(at) != 2) return std::nullopt;
        return interval(cut(tree_.left(at), true), cut(tree_.right(at), false));
      case Kind::kSet: return points(at);
      case Kind::kUnion: return both(at, Operation::kUnion);
      case Kind::kIntersection: return both(at, Operation::kIntersection);
      case Kind::kDifference: return both(at, Operation::kDifference);
      case Kind::kRelation: return inequality(at);
      case Kind::kList: return inequalities(at);
      default: return std::nullopt;
    }
  }

  int compare(const Cut& a, const Cut& b) {
    if (a.infinity != b.infinity) return a.infinity < b.infinity ? -1 : 1;
    if (a.infinity != 0) return 0;
    const auto found = order(tree_, a.value, b.value, work_);
    if (!found) throw NoOrder{};
    if (*found != 0) return *found;
    return static_cast<int>(a.after) - static_cast<int>(b.after);
  }

 private:
  Cut cut(Place at, bool after) const {
    const int sign = infinity_sign(tree_, at);
    return sign == 0 ? Cut{at, 0, after} : Cut{kNone, sign, sign < 0};
  }

  RealSet interval(const Cut& low, const Cut& high) { return compare(low, high) < 0 ? RealSet{low, high} : RealSet{}; }

  std::optional<RealSet> both(Place at, Operation operation) {
    const auto a = read(tree_.left(at));
    const auto b = read(tree_.right(at));
    if (!a || !b) return std::nullopt;
    return combine(*a, *b, operation);
  }

  // Walk over the cuts of both; the result has one wherever membership changes.
  RealSet combine(const RealSet& a, const RealSet& b, Operation operation) {
    RealSet result;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() || j < b.size()) {
      const int first = i == a.size() ? 1 : j == b.size() ? -1 : compare(a[i], b[j]);
      const Cut& here = first <= 0 ? a[i] : b[j];
      i += first <= 0;
      j += first >= 0;
      const bool in_a = i % 2 == 1;
      const bool in_b = j % 2 == 1;
      const bool in = operation == Operation::kUnion          ? in_a || in_b
                      : operation == Operation::kIntersection ? in_a && in_b
                                                              : in_a && !in_b;
      if (in != (result.size() % 2 == 1)) result.push_back(here);
    }
    return result;
  }

  RealSet points(Place at) {
    RealSet result;
    for (const Place point : tree_.children(at)) {
      result = combine(result, {{point, 0, false}, {point, 0, true}}, Operation::kUnion);
    }
    return result;
  }

  // x < 3, -2 <= x < 7, 3x - 1 > 5, |x| < 3, x^2 < 9: in one variable, each two neighbours linear, an absolute value of
  // something linear, or quadratic.
  std::optional<RealSet> inequality(Place at) {
    if (only_variable(tree_, at) == kNone) return std::nullopt;
    RealSet result{kBegin, kEnd};
    const auto operands = tree_.children(at);
    for (std::size_t i = 1; i < operands.size(); ++i) {
      const auto next = solutions(operands[i - 1], tree_[operands[i]].relation, operands[i]);
      if (!next) return std::nullopt;
      result = combine(result, *next, Operation::kIntersection);
    }
    return result;
  }

  std::optional<RealSet> solutions(Place left, Relation relation, Place right) {
    const bool less = relation == Relation::kLess || relation == Relation::kLessEqual;
    const bool closed = relation == Relation::kLessEqual || relation == Relation::kGreaterEqual;
    if (!less && !closed && relation != Relation::kGreater && relation != Relation::kNotEqual) return std::nullopt;
    for (const auto& [side, sign] : {std::pair(left, -1), std::pair(right, 1)}) {
      const int infinity = infinity_sign(tree_, side);
      if (infinity != 0) return (infinity == sign) == less ? RealSet{kBegin, kEnd} : RealSet{};
    }
    const auto polynomial = difference_polynomial(tree_, left, right);
    if (!polynomial) return std::nullopt;
    Shape shape;
    if (!find_shape(*polynomial, shape)) return std::nullopt;
    if (relation == Relation::kNotEqual) return complement(zeros(shape));
    // The left side is less below a curve that opens upwards; otherwise all is turned round.
    const bool below = less == shape.rising;
    return below ? negative(shape, closed) : complement(negative(shape, !closed));
  }

  // Where a difference is zero, in order; one that is not linear is positive far from all of them. `rising`: the sign
  // of what makes it grow, by which it may have to be turned.
  struct Shape {
    std::vector<Place> zeros;
    bool linear = false;
    bool rising = true;
  };

  bool find_shape(const Polynomial& of, Shape& shape) {
    const auto [c, b, a] = of.coefficients;
    if (of.factor != kNone) return of.degree() == 0 && find_absolute(of, shape);
    if (a != kNone && sign(a) != 0) return find_quadratic(a, or_zero(b), or_zero(c), shape);
    if (b == kNone || sign(b) == 0) return false;
    shape.linear = true;
    shape.rising = sign(b) > 0;
    shape.zeros = {quotient(negated(or_zero(c)), b)};
    return true;
  }

  // (-b ± sqrt(b^2 - 4ac)) / 2a
  bool find_quadratic(Place a, Place b, Place c, Shape& shape) {
    shape.rising = sign(a) > 0;
    const Place four = tree_.add(Kind::kNumber, 0, "4");
    const Place square = product(b, b);
    const Place discriminant = tree_.add(Kind::kSum, square, negated(product(four, product(a, c))));
    const int real = sign(discriminant);
    const Place twice = product(tree_.add(Kind::kNumber, 0, "2"), a);
    if (real < 0) return true;
    if (real == 0) {
      shape.zeros = {quotient(negated(b), twice)};
      return true;
    }
    const Place root = tree_.add(Kind::kRoot, tree_.share(discriminant));
    add_pair(negated(b), root, twice, shape);
    return true;
  }

  // factor |b + a x| + c
  bool find_absolute(const Polynomial& of, Shape& shape) {
    const auto [b, a] = of.inside;
    const int grows = sign(of.factor);
    if (grows == 0 || sign(a) == 0) return false;
    shape.rising = grows > 0;
    const Place size = quotient(negated(or_zero(of.coefficients[0])), of.factor);
    const int real = sign(size);
    const Place start = negated(or_zero(b));
    if (real == 0) shape.zeros = {quotient(start, a)};
    if (real > 0) add_pair(start, size, a, shape);
    return true;
  }

  // (middle ± size) / divisor, in order.
  void add_pair(Place middle, Place size, Place divisor, Shape& shape) {
    const Place low = tree_.add(Kind::kSum, tree_.share(middle), negated(size));
    const Place high = tree_.add(Kind::kSum, tree_.share(middle), tree_.share(size));
    shape.zeros = {quotient(low, divisor), quotient(high, divisor)};
    if (sign(divisor) < 0) std::swap(shape.zeros[0], shape.zeros[1]);
  }

  RealSet negative(const Shape& shape, bool closed) {
    if (shape.zeros.empty()) return {};
    const Cut end{shape.zeros.back(), 0, closed};
    if (shape.linear) return {kBegin, end};
    return interval({shape.zeros.front(), 0, !closed}, end);
  }

  static RealSet zeros(const Shape& shape) {
    RealSet result;
    for (const Place zero : shape.zeros) {
      result.push_back({zero, 0, false});
      result.push_back({zero, 0, true});
    }
    return result;
  }

  RealSet complement(const RealSet& set) { return combine({kBegin, kEnd}, set, Operation::kDifference); }

  int sign(Place value) {
    const auto found = order(tree_, value, zero(), work_);
    if (!found) throw NoOrder{};
    return *found;
  }

  Place zero() { return tree_.add(Kind::kNumber, 0, "0"); }
  Place or_zero(Place at) { return at == kNone ? zero() : at; }
  Place negated(Place at) { return tree_.add(Kind::kNegate, tree_.share(at)); }
  Place product(Place a, Place b) { return tree_.add(Kind::kProduct, tree_.share(a), tree_.share(b)); }
  Place quotient(Place a, Place b) { return tree_.add(Kind::kQuotient, tree_.share(a), tree_.share(b)); }

  // "x < -1 or x > 1", "x > 2 and x < 5", "(1, 2) or (3, 4)".
  std::optional<RealSet> inequalities(Place at) {
    const bool all_hold = tree_[at].detail == kJoinedByAnd;
    std::optional<RealSet> result;
    for (const Place one : tree_.children(at)) {
      const bool interval = tree_.kind(one) == Kind::kInterval || tree_.kind(one) == Kind::kTuple;
      const bool counts = tree_.kind(one) == Kind::kRelation || (interval && tree_[at].detail == kJoinedByOr);
      const auto next = counts ? read(one) : std::nullopt;
      if (!next) return std::nullopt;
      result = result ? combine(*result, *next, all_hold ? Operation::kIntersection : Operation::kUnion) : *next;
    }
    return result;
  }

  Tree& tree_;
  Work& work_;
};

}  // namespace

int infinity_sign(const Tree& tree, Place at) {
  if (tree.kind(at) == Kind::kNegate) return -infinity_sign(tree, tree.left(at));
  return tree.kind(at) == Kind::kInfinity ? 1 : 0;
}

std::optional<RealSet> real_set(Tree& tree, Place at, Work& work) {
  try {
    return Reader(tree, work).read(at);
  } catch (const NoOrder&) {
    return std::nullopt;
  }
}

bool same_set(Tree& tree, const RealSet& a, const RealSet& b, Work& work) {
  Reader reader(tree, work);
  try {
    return std::ranges::equal(a, b, [&](const Cut& x, const Cut& y) { return reader.compare(x, y) == 0; });
  } catch (const NoOrder&) {
    return false;
  }
}

}  // namespace math_answers
