#include "comparison.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace math_answers {
namespace {

bool is_collection(Kind kind) { return kind == Kind::kList || kind == Kind::kSet || kind == Kind::kTuple; }

bool is_region(Kind kind) {
  return kind == Kind::kUnion || kind == Kind::kIntersection || kind == Kind::kDifference || kind == Kind::kReals;
}

// In small letters, with leading zeros dropped.
std::string digits_in(std::string_view text) {
  std::string digits = lower(text);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

struct Numeral {
  std::string digits;
  std::string_view base;
};

// Appends the digits at `at`, also of a product of numbers and letters. False for anything else, and behind the base.
bool append_digits(const Tree& tree, Place at, Numeral& to) {
  if (!to.base.empty()) return false;
  switch (tree.kind(at)) {
    case Kind::kProduct: return append_digits(tree, tree.left(at), to) && append_digits(tree, tree.right(at), to);
    case Kind::kEuler: to.digits += 'e'; return true;
    case Kind::kBaseNumeral:
      for (const Place piece : tree.children(at)) to.digits += tree[piece].text;
      to.base = tree[at].text;
      return true;
    case Kind::kSymbol:
      if (tree[at].text.size() != 1) return false;
      if (const Place subscript = tree.left(at); subscript != kNone) {
        if (tree.kind(subscript) != Kind::kNumber) return false;
        to.base = tree[subscript].text;
      }
      [[fallthrough]];
    case Kind::kNumber: to.digits += tree[at].text; return true;
    default: return false;
  }
}

std::optional<Numeral> numeral(const Tree& tree, Place at) {
  Numeral found;
  if (!append_digits(tree, at, found)) return std::nullopt;
  found.digits = digits_in(found.digits);
  return found;
}

bool is_percentage(const Tree& tree, Place at) {
  return tree.kind(tree.kind(at) == Kind::kNegate ? tree.left(at) : at) == Kind::kPercent;
}

}  // namespace

bool Comparer::equal(Place truth, Place prediction) {
  how_ = "";
  if (tree_.same(truth, prediction)) {
    how_ = "as written";
    return true;
  }
  const Kind wanted = tree_.kind(truth);
  const Kind given = tree_.kind(prediction);
  const auto either = [&](Kind kind) { return wanted == kind || given == kind; };
  if (either(Kind::kText)) return false;
  if (const auto decided = named_values(truth, prediction)) return *decided;
  if (either(Kind::kTime)) return times(truth, prediction);
  if (either(Kind::kRelation)) return relations(truth, prediction);
  if (is_region(wanted) || is_region(given)) return regions(truth, prediction);
  if (either(Kind::kInterval)) return intervals(truth, prediction);
  if (is_collection(wanted) || is_collection(given)) return collections(truth, prediction);
  return values(truth, prediction);
}

bool Comparer::values(Place truth, Place prediction) {
  if (tree_.kind(truth) == Kind::kNegate && tree_.kind(prediction) == Kind::kNegate &&
      (tree_.kind(tree_.left(truth)) == Kind::kBaseNumeral ||
       tree_.kind(tree_.left(prediction)) == Kind::kBaseNumeral)) {
    return numerals(tree_.left(truth), tree_.left(prediction));
  }
  if (tree_.kind(truth) == Kind::kBaseNumeral || tree_.kind(prediction) == Kind::kBaseNumeral) {
    return numerals(truth, prediction);
  }
  const int sign = infinity_sign(tree_, truth);
  if (sign != 0 || infinity_sign(tree_, prediction) != 0) return sign == infinity_sign(tree_, prediction);
  if (matrix(tree_, truth) || matrix(tree_, prediction)) return matrices(truth, prediction);
  if (tree_.kind(truth) == Kind::kResidue || tree_.kind(prediction) == Kind::kResidue) {
    return residues(truth, prediction);
  }
  if (is_percentage(tree_, truth) || is_percentage(tree_, prediction)) {
    return percentages(truth, prediction);
  }
  // BE_{16} and be_{16}: products, but for the e.
  return scalars(truth, prediction) || same_digits(truth, prediction);
}

// Equal as values; or, if lenient, as the numbers that are printed: but 0.5\% is not one half, and only of a number
// from 1 on may a sign be added.
bool Comparer::percentages(Place truth, Place prediction) {
  const bool wanted = is_percentage(tree_, truth);
  const bool given = is_percentage(tree_, prediction);
  if (wanted && given) return scalars(printed(truth), printed(prediction));
  if (scalars(truth, prediction)) return true;
  if (!options_.lenient_percent) return false;
  if (given) {
    const Place size = tree_.add(Kind::kAbsolute, tree_.share(truth));
    if (order(tree_, size, tree_.add(Kind::kNumber, 0, "1"), work_).value_or(-1) < 0) return false;
  }
  return scalars(wanted ? printed(truth) : truth, given ? printed(prediction) : prediction);
}

// The number before the percent sign.
Place Comparer::printed(Place percentage) {
  if (tree_.kind(percentage) == Kind::kPercent) return tree_.left(percentage);
  return tree_.add(Kind::kNegate, tree_.share(tree_.left(tree_.left(percentage))));
}

bool Comparer::scalars(Place truth, Place prediction) {
  const Finding finding = compare_scalars(tree_, truth, prediction, options_, work_);
  how_ = finding.how;
  return finding.equal;
}

// Points and open intervals are compared one by one, lists and sets as sets. A list may stand for a tuple, a tuple
// never for a list.
bool Comparer::collections(Place truth, Place prediction) {
  const Kind wanted = tree_.kind(truth);
  const Kind given = tree_.kind(prediction);
  if (options_.vector_as_tuple && (wanted == Kind::kTuple || given == Kind::kTuple) && matrices(truth, prediction)) {
    return true;
  }
  if (wanted == Kind::kTuple) {
    return (given == Kind::kTuple || given == Kind::kList) && one_by_one(truth, prediction);
  }
  if (given == Kind::kTuple) return lists_inequalities(truth) && regions(truth, prediction);
  if (lists_inequalities(truth) && lists_inequalities(prediction) && !is_equation(tree_.left(truth)) &&
      (tree_[truth].detail == kJoinedByAnd) != (tree_[prediction].detail == kJoinedByAnd) &&
      (tree_[truth].detail == kJoinedByOr) != (tree_[prediction].detail == kJoinedByOr)) {
    return same_solutions(truth, prediction);
  }
  return as_sets(truth, prediction);
}

bool Comparer::one_by_one(Place truth, Place prediction) {
  return std::ranges::equal(tree_.children(truth), tree_.children(prediction),
                            [&](Place a, Place b) { return equal_elements(a, b); });
}

// Only the braces around a whole answer may be missing.
bool Comparer::equal_elements(Place truth, Place prediction) {
  return (tree_.kind(truth) == Kind::kSet) == (tree_.kind(prediction) == Kind::kSet) && equal(truth, prediction);
}

bool Comparer::as_sets(Place truth, Place prediction) {
  if (tree_.kind(truth) == Kind::kList || tree_.kind(prediction) == Kind::kList) {
    if (!is_collection(tree_.kind(truth)) || !is_collection(tree_.kind(prediction))) return false;
  }
  const auto elements = [&](Place at) {
    return is_collection(tree_.kind(at)) ? tree_.children(at) : std::vector<Place>{at};
  };
  const auto wanted = elements(truth);
  const auto given = elements(prediction);
  std::vector<bool> found(given.size(), false);
  for (const Place one : wanted) {
    bool matched = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if ((matched && found[i]) || !equal_elements(one, given[i])) continue;
      matched = found[i] = true;
    }
    if (!matched) return false;
  }
  how_ = "as sets";
  return std::ranges::all_of(found, [](bool one) { return one; });
}

// Bounds with variables in them need no order.
bool Comparer::intervals(Place truth, Place prediction) {
  const auto closed = [&](Place at) { return tree_.kind(at) == Kind::kInterval ? tree_[at].detail : 0; };
  const auto is_interval = [&](Place at) {
    return tree_.kind(at) == Kind::kInterval || (tree_.kind(at) == Kind::kTuple && tree_.count(at) == 2);
  };
  if (lists_inequalities(truth)) return regions(truth, prediction);
  if (!is_interval(truth) || !is_interval(prediction)) return false;
  return closed(truth) == closed(prediction) && one_by_one(truth, prediction);
}

bool Comparer::lists_inequalities(Place at) const {
  return tree_.kind(at) == Kind::kList && tree_.kind(tree_.left(at)) == Kind::kRelation;
}

// An inequality only repeats the question where a set is wanted.
bool Comparer::regions(Place truth, Place prediction) {
  const bool condition = tree_.kind(truth) == Kind::kIntersection && tree_[truth].detail == kFromCondition;
  if (!options_.interval_from_inequality && contains(tree_, prediction, Kind::kRelation) &&
      !(condition && is_solved(prediction))) {
    return false;
  }
  const auto wanted = real_set(tree_, truth, work_);
  const auto given = real_set(tree_, prediction, work_);
  how_ = "as sets of real numbers";
  return wanted && given && same_set(tree_, *wanted, *given, work_);
}

bool Comparer::matrices(Place truth, Place prediction) {
  const auto read = [&](Place at) {
    const bool flat = options_.vector_as_tuple && tree_.kind(at) == Kind::kTuple;
    return flat ? std::optional(Matrix{1, tree_.children(at)}) : matrix(tree_, at);
  };
  const auto wanted = read(truth);
  const auto given = read(prediction);
  if (!wanted || !given) return false;
  const bool vectors = options_.vector_as_tuple && tree_.kind(truth) != tree_.kind(prediction) &&
                       (given->columns == 1 || given->columns == given->entries.size()) &&
                       (wanted->columns == 1 || wanted->columns == wanted->entries.size());
  return (vectors || wanted->columns == given->columns) && operands_equal(wanted->entries, given->entries);
}

// The half of the day may be left out on one side. What looks like a time is a ratio where the truth is one: 8:14 for
// 4:7.
bool Comparer::times(Place truth, Place prediction) {
  const bool ratio =
      tree_.kind(truth) == Kind::kQuotient && tree_[prediction].detail == 0 && tree_.count(prediction) == 2;
  if (ratio) {
    const Place above = tree_.share(tree_.left(prediction));
    return values(truth, tree_.add(Kind::kQuotient, above, tree_.share(tree_.right(prediction))));
  }
  if (tree_.kind(truth) != Kind::kTime || tree_.kind(prediction) != Kind::kTime) return false;
  const auto half = tree_[truth].detail;
  const auto other_half = tree_[prediction].detail;
  if (half != other_half && half != 0 && other_half != 0) return false;
  auto wanted = tree_.children(truth);
  auto given = tree_.children(prediction);
  const auto value = [&](const std::vector<Place>& parts, std::size_t i) {
    return i < parts.size() ? digits_in(tree_[parts[i]].text) : std::string();
  };
  for (std::size_t i = 0; i < 3; ++i) {
    if (value(wanted, i) != value(given, i)) return false;
  }
  return true;
}

// The base may be left out on one side, but then the digits must be those of the numeral. What is no numeral may be one
// in small letters: a3_{16}, 3a_{16}.
bool Comparer::numerals(Place truth, Place prediction) const {
  const auto wanted = numeral(tree_, truth);
  const auto given = numeral(tree_, prediction);
  if (!wanted || !given) return false;
  if (!wanted->base.empty() && !given->base.empty() && wanted->base != given->base) return false;
  return wanted->digits == given->digits;
}

// The same number up to multiples of the modulus, which may be left out on one side: then it is the same number.
bool Comparer::residues(Place truth, Place prediction) {
  const auto is_residue = [&](Place at) { return tree_.kind(at) == Kind::kResidue; };
  if (!is_residue(truth)) return scalars(truth, tree_.left(prediction));
  if (!is_residue(prediction)) return scalars(tree_.left(truth), prediction);
  const Place modulus = tree_.right(truth);
  if (!scalars(modulus, tree_.right(prediction))) return false;
  const Place minus = tree_.add(Kind::kNegate, tree_.share(tree_.left(prediction)));
  const Place difference = tree_.add(Kind::kSum, tree_.share(tree_.left(truth)), minus);
  const Place multiple = tree_.add(Kind::kQuotient, difference, tree_.share(modulus));
  return scalars(multiple, tree_.add(Kind::kFloor, tree_.share(multiple)));
}

// Of two products that are both written as digits of one base.
bool Comparer::same_digits(Place truth, Place prediction) const {
  if (tree_.kind(truth) != Kind::kProduct || tree_.kind(prediction) != Kind::kProduct) return false;
  const auto wanted = numeral(tree_, truth);
  return wanted && !wanted->base.empty() && numerals(truth, prediction) &&
         numeral(tree_, prediction)->base == wanted->base;
}

std::optional<Matrix> matrix(Tree& tree, Place at) {
  switch (tree.kind(at)) {
    case Kind::kMatrix: {
      Matrix result;
      for (const Place row : tree.children(at)) {
        const auto entries = tree.children(row);
        if (result.columns != 0 && entries.size() != result.columns) return std::nullopt;
        result.columns = entries.size();
        result.entries.insert(result.entries.end(), entries.begin(), entries.end());
      }
      return result;
    }
    case Kind::kNegate: {
      auto inner = matrix(tree, tree.left(at));
      if (!inner) return std::nullopt;
      for (Place& entry : inner->entries) entry = tree.add(Kind::kNegate, tree.share(entry));
      return inner;
    }
    case Kind::kProduct:
    case Kind::kQuotient: {
      Place factor = tree.right(at);
      auto inner = matrix(tree, tree.left(at));
      if (!inner && tree.kind(at) == Kind::kProduct) {
        inner = matrix(tree, factor);
        factor = tree.left(at);
      }
      if (!inner) return std::nullopt;
      for (Place& entry : inner->entries) entry = tree.add(tree.kind(at), tree.share(entry), tree.share(factor));
      return inner;
    }
    default: return std::nullopt;
  }
}

}  // namespace math_answers
