// Equations, assignments and inequalities.

#include "comparison.h"
#include "evaluation.h"
#include "parser.h"
#include "polynomials.h"

#include <algorithm>

namespace math_answers {
namespace {

constexpr unsigned kSamples = 12;  // the last third with negative variables
constexpr int kFewestSamples = 4;
constexpr slong kSamplePrecision = 1024;
constexpr slong kSampleDecided = -150;  // bits

bool is_descending(Relation relation) { return relation == Relation::kGreater || relation == Relation::kGreaterEqual; }

Relation turned(Relation relation) {
  switch (relation) {
    case Relation::kGreater: return Relation::kLess;
    case Relation::kGreaterEqual: return Relation::kLessEqual;
    default: return relation;
  }
}

bool is_literal(const Tree& tree, Place at) {
  switch (tree.kind(at)) {
    case Kind::kNumber: return true;
    case Kind::kPercent:
    case Kind::kNegate: return is_literal(tree, tree.left(at));
    case Kind::kQuotient: return is_literal(tree, tree.left(at)) && is_literal(tree, tree.right(at));
    default: return false;
  }
}

// An inequality with its operands in rising order.
struct Rising {
  std::vector<Place> operands;
  std::vector<Relation> relations;  // before each but the first
};

Rising rising(const Tree& tree, Place at) {
  Rising result;
  result.operands = tree.children(at);
  for (std::size_t i = 1; i < result.operands.size(); ++i)
    result.relations.push_back(tree[result.operands[i]].relation);
  if (!result.relations.empty() && is_descending(result.relations.front())) {
    std::ranges::reverse(result.operands);
    std::ranges::reverse(result.relations);
    std::ranges::transform(result.relations, result.relations.begin(), turned);
  }
  return result;
}

}  // namespace

bool Comparer::is_equation(Place at) const {
  for (Place operand = tree_.right(at); operand != kNone; operand = tree_[operand].next) {
    if (tree_[operand].relation != Relation::kEqual) return false;
  }
  return true;
}

bool Comparer::is_assignment(Place at) const { return is_equation(at) && is_name(tree_, tree_.left(at)); }

Place Comparer::last(Place at) const { return tree_.children(at).back(); }

bool Comparer::relations(Place truth, Place prediction) {
  const bool wanted = tree_.kind(truth) == Kind::kRelation;
  const bool given = tree_.kind(prediction) == Kind::kRelation;
  if (!wanted) return with_value(truth, prediction);
  if (!given) return from_relation(truth, prediction);
  if (is_equation(truth) != is_equation(prediction)) return false;
  return is_equation(truth) ? equations(truth, prediction) : inequalities(truth, prediction);
}

// The truth is a value: what does an equation give? Its last member, if the members before it are a name, or the same.
bool Comparer::with_value(Place truth, Place relation) {
  if (!is_equation(relation)) return regions(truth, relation);
  if (!is_name(tree_, tree_.left(relation)) && has_variables(tree_, relation) && !consistent(relation)) return false;
  return equal(truth, last(relation));
}

// The truth is an equation or inequality, the prediction a value.
bool Comparer::from_relation(Place relation, Place prediction) {
  if (!is_equation(relation)) {
    if (lists_inequalities(prediction)) return same_solutions(relation, prediction);
    return tree_.kind(prediction) != Kind::kList && regions(relation, prediction);
  }
  if (is_assignment(relation)) return equal(last(relation), prediction);
  // "0.56 = 56\%" says one number in two ways; "8 + 8 + 15 = 31" is wanted as it is.
  const auto members = tree_.children(relation);
  const bool restates = std::ranges::all_of(members, [&](Place member) { return is_literal(tree_, member); });
  return restates && std::ranges::any_of(members, [&](Place member) { return equal(member, prediction); });
}

bool Comparer::consistent(Place chain) {
  const auto members = tree_.children(chain);
  for (std::size_t i = 0; i + 1 < members.size(); ++i) {
    if (!equal(members[i], members[i + 1])) return false;
  }
  return true;
}

bool Comparer::operands_equal(const std::vector<Place>& truth, const std::vector<Place>& prediction) {
  return std::ranges::equal(truth, prediction, [&](Place a, Place b) { return equal(a, b); });
}

bool Comparer::equations(Place truth, Place prediction) {
  const auto ratio = proportional(truth, prediction);
  if (ratio.value_or(0) != 0) {
    how_ = "as equations";
    return true;
  }
  if (is_assignment(truth) && is_assignment(prediction)) {
    return equal(tree_.left(truth), tree_.left(prediction)) && equal(last(truth), last(prediction));
  }
  if (ratio) return false;
  const auto wanted = tree_.children(truth);
  auto given = tree_.children(prediction);
  if (operands_equal(wanted, given)) return true;
  std::ranges::reverse(given);
  return operands_equal(wanted, given);
}

// Both sides of an inequality may be multiplied by a positive number.
bool Comparer::inequalities(Place truth, Place prediction) {
  const Rising wanted = rising(tree_, truth);
  const Rising given = rising(tree_, prediction);
  if (wanted.relations != given.relations) return same_solutions(truth, prediction);
  if (operands_equal(wanted.operands, given.operands)) return true;
  const int sign = wanted.operands.size() == 2 ? proportional(truth, prediction).value_or(0) : 0;
  if (sign == 0) return same_solutions(truth, prediction);
  if (wanted.relations.front() == Relation::kNotEqual) return true;
  const bool same_side =
      is_descending(tree_[tree_.right(truth)].relation) == is_descending(tree_[tree_.right(prediction)].relation);
  return (sign > 0) == same_side;
}

// Whether a variable stands alone, or in each of several inequalities; another form may only repeat the problem.
bool Comparer::is_solved(Place inequality) const {
  const auto parts = tree_.children(inequality);
  if (tree_.kind(inequality) == Kind::kList) {
    return std::ranges::all_of(parts, [&](Place one) { return tree_.kind(one) == Kind::kRelation && is_solved(one); });
  }
  const auto is_variable = [&](Place one) { return tree_.kind(one) == Kind::kSymbol; };
  return std::ranges::count_if(parts, is_variable) == 1 &&
         std::ranges::all_of(parts, [&](Place one) { return is_variable(one) || !has_variables(tree_, one); });
}

// A solution given as inequalities, for a truth that is still to be solved.
bool Comparer::same_solutions(Place truth, Place prediction) {
  const Place unknown = only_variable(tree_, truth);
  const Place solved = only_variable(tree_, prediction);
  if (unknown == kNone || solved == kNone || identity(tree_, unknown) != identity(tree_, solved)) return false;
  if (!is_solved(prediction)) return false;
  const auto wanted = real_set(tree_, truth, work_);
  const auto given = real_set(tree_, prediction, work_);
  how_ = "as sets of real numbers";
  return wanted && given && same_set(tree_, *wanted, *given, work_);
}

Place Comparer::difference(Place relation) {
  const Place right = tree_.add(Kind::kNegate, tree_.share(tree_.right(relation)));
  return tree_.add(Kind::kSum, tree_.share(tree_.left(relation)), right);
}

// Whether left side - right side of one is a constant times that of the other at points where it is not zero: the sign
// of the constant, 0 if there is none. Nothing if it cannot be told.
std::optional<int> Comparer::proportional(Place truth, Place prediction) {
  if (tree_.count(truth) != 2 || tree_.count(prediction) != 2) return std::nullopt;
  const Place wanted = difference(truth);
  const Place given = difference(prediction);
  Ball first_wanted;
  Ball first_given;
  int sign = 0;
  int samples = 0;
  for (unsigned i = 0; i < kSamples; ++i) {
    const SamplePoint point{i, 3 * i >= 2 * kSamples, 0, true};
    Ball a;
    Ball b;
    Magnitude scale;
    if (evaluate_ball(tree_, wanted, point, kSamplePrecision, work_, a, scale) != Outcome::kValue) continue;
    if (evaluate_ball(tree_, given, point, kSamplePrecision, work_, b, scale) != Outcome::kValue) continue;
    if (acb_contains_zero(a.get()) || acb_contains_zero(b.get())) continue;
    if (samples++ == 0) {
      sign = arb_is_positive(a.real()) == arb_is_positive(b.real()) ? 1 : -1;
      acb_swap(first_wanted.get(), a.get());
      acb_swap(first_given.get(), b.get());
      continue;
    }
    acb_mul(a.get(), a.get(), first_given.get(), kSamplePrecision);
    acb_mul(b.get(), b.get(), first_wanted.get(), kSamplePrecision);
    Magnitude product;
    acb_get_mag(product.get(), a.get());
    acb_sub(a.get(), a.get(), b.get(), kSamplePrecision);
    if (!acb_contains_zero(a.get())) return 0;
    if (!within(a, product, kSampleDecided)) --samples;
  }
  if (samples < kFewestSamples) return std::nullopt;
  return sign;
}

}  // namespace math_answers
