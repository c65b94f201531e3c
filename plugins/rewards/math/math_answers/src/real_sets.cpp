#include "comparison.h"

#include <algorithm>

namespace math_answers {
namespace {

// Thrown where two bounds cannot be put in order.
struct NoOrder {};

constexpr Cut kBegin = {kNone, -1, true};
constexpr Cut kEnd = {kNone, 1, false};

enum class Operation { kUnion, kIntersection, kDifference };

class Reader {
 public:
  Reader(const Tree& tree, Work& work) : tree_(tree), work_(work) {}

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

  // x < 3, -2 <= x < 7, x \ne 3.
  std::optional<RealSet> inequality(Place at) {
    const auto operands = tree_.children(at);
    RealSet result{kBegin, kEnd};
    std::size_t unknowns = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (tree_.kind(operands[i]) != Kind::kSymbol) continue;
      ++unknowns;
      if (i > 0) restrict(result, operands[i - 1], tree_[operands[i]].relation, true);
      if (i + 1 < operands.size()) restrict(result, operands[i + 1], tree_[operands[i + 1]].relation, false);
    }
    const bool complete =
        unknowns == 1 && (operands.size() == 2 || (operands.size() == 3 && tree_.kind(operands[1]) == Kind::kSymbol));
    if (!complete || failed_) return std::nullopt;
    return result;
  }

  // `bound relation x`, or `x relation bound`.
  void restrict(RealSet& set, Place bound, Relation relation, bool bound_first) {
    const bool less = relation == Relation::kLess || relation == Relation::kLessEqual;
    const bool closed = relation == Relation::kLessEqual || relation == Relation::kGreaterEqual;
    if (relation == Relation::kNotEqual) {
      set = combine(set, {{bound, 0, false}, {bound, 0, true}}, Operation::kDifference);
    } else if (!less && !closed && relation != Relation::kGreater) {
      failed_ = true;
    } else if (less == bound_first) {
      set = combine(set, interval(cut(bound, !closed), kEnd), Operation::kIntersection);
    } else {
      set = combine(set, interval(kBegin, cut(bound, closed)), Operation::kIntersection);
    }
  }

  // "x < -1 or x > 1", "x > 2 and x < 5".
  std::optional<RealSet> inequalities(Place at) {
    const bool all_hold = tree_[at].detail == kJoinedByAnd;
    std::optional<RealSet> result;
    for (const Place one : tree_.children(at)) {
      const auto next = tree_.kind(one) == Kind::kRelation ? read(one) : std::nullopt;
      if (!next) return std::nullopt;
      result = result ? combine(*result, *next, all_hold ? Operation::kIntersection : Operation::kUnion) : *next;
    }
    return result;
  }

  const Tree& tree_;
  Work& work_;
  bool failed_ = false;
};

}  // namespace

int infinity_sign(const Tree& tree, Place at) {
  if (tree.kind(at) == Kind::kNegate) return -infinity_sign(tree, tree.left(at));
  return tree.kind(at) == Kind::kInfinity ? 1 : 0;
}

std::optional<RealSet> real_set(const Tree& tree, Place at, Work& work) {
  try {
    return Reader(tree, work).read(at);
  } catch (const NoOrder&) {
    return std::nullopt;
  }
}

bool same_set(const Tree& tree, const RealSet& a, const RealSet& b, Work& work) {
  Reader reader(tree, work);
  try {
    return std::ranges::equal(a, b, [&](const Cut& x, const Cut& y) { return reader.compare(x, y) == 0; });
  } catch (const NoOrder&) {
    return false;
  }
}

}  // namespace math_answers
