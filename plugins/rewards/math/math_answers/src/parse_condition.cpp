// Sets that are given by a condition: {x | x < 2 or x > 5}.

#include "parser.h"

#include <algorithm>
#include <utility>

namespace math_answers {
namespace {

bool is_name(const Token& token) { return token.sign == Sign::kLetter || token.sign == Sign::kSymbol; }

}  // namespace

// Behind the `x |` or `x \in R :` that begins a condition; nothing if none does, as in {1, 2} and {|x|, 2}.
std::size_t Parser::condition_at(std::size_t begin) const {
  if (!is_name(tokens_[begin])) return 0;
  std::size_t next = begin + 1;
  if (sign_at(next) == Sign::kRelation && tokens_[next].relation() == Relation::kMember &&
      sign_at(next + 1) == Sign::kReals) {
    next += 2;
  }
  if (sign_at(next) != Sign::kBar && sign_at(next) != Sign::kColon) return 0;
  const auto rest = tokens_.begin() + static_cast<std::ptrdiff_t>(next);
  const auto close = std::find_if(rest, tokens_.end(), [](const Token& one) { return one.sign == Sign::kCloseSet; });
  const bool related = std::any_of(rest, close, [](const Token& one) { return one.sign == Sign::kRelation; });
  return related ? next + 1 : 0;
}

// The condition must be solved, x < 2 or x > 5: another may only repeat the problem.
Place Parser::condition(Place variable) {
  Place all = kNone;
  Sign joined = Sign::kEnd;
  for (;;) {
    const Place next = region(variable, item());
    const Kind kind = joined == Sign::kOr ? Kind::kUnion : Kind::kIntersection;
    all = all == kNone ? next : tree_.add(kind, all, next);
    if (!at_separator()) break;
    const Sign here = sign() == Sign::kOr ? Sign::kOr : Sign::kAnd;
    if (joined != Sign::kEnd && joined != here) throw Unreadable{"a condition with both \"and\" and \"or\""};
    joined = here;
    ++at_;
  }
  expect(Sign::kCloseSet);
  const Place within = tree_.add(Kind::kReals);
  return tree_.add(Kind::kIntersection, std::vector<Place>{within, all}, kFromCondition);
}

// The numbers that hold what is said of the variable: 2 < x < 5, x \ne 3, x \in R.
Place Parser::region(Place variable, Place said) {
  if (tree_.kind(said) != Kind::kRelation) return said;
  Place all = kNone;
  const auto operands = tree_.children(said);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const bool turned = tree_.same(operands[i], variable);
    const Place bound = turned ? operands[i - 1] : operands[i];
    if (!turned && !tree_.same(operands[i - 1], variable)) throw Unreadable{"a condition that is not solved"};
    if (has_variables(tree_, bound)) throw Unreadable{"a condition that is not solved"};
    const Place next = half_line(tree_.share(bound), tree_[operands[i]].relation, turned);
    all = all == kNone ? next : tree_.add(Kind::kIntersection, all, next);
  }
  return all;
}

// The numbers x of `x relation bound`, or if turned round of `bound relation x`.
Place Parser::half_line(Place bound, Relation relation, bool turned) {
  const bool less = relation == Relation::kLess || relation == Relation::kLessEqual;
  const bool greater = relation == Relation::kGreater || relation == Relation::kGreaterEqual;
  if (!less && !greater) {
    const Place point = tree_.add(Kind::kSet, bound);
    if (relation == Relation::kEqual) return point;
    if (relation != Relation::kNotEqual) throw Unreadable{"a condition without a meaning"};
    return tree_.add(Kind::kDifference, tree_.add(Kind::kReals), point);
  }
  const bool closed = relation == Relation::kLessEqual || relation == Relation::kGreaterEqual;
  const Place infinity = tree_.add(Kind::kInfinity);
  if (less != turned) {
    const Place lowest = tree_.add(Kind::kNegate, infinity);
    return tree_.add(Kind::kInterval, std::vector<Place>{lowest, bound}, closed ? kHighClosed : std::uint8_t{0});
  }
  return tree_.add(Kind::kInterval, std::vector<Place>{bound, infinity}, closed ? kLowClosed : std::uint8_t{0});
}

}  // namespace math_answers
