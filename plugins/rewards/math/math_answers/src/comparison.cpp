#include "comparison.h"

#include <algorithm>

namespace math_answers {
namespace {

bool is_collection(Kind kind) { return kind == Kind::kList || kind == Kind::kSet || kind == Kind::kTuple; }

bool is_region(Kind kind) {
  return kind == Kind::kUnion || kind == Kind::kIntersection || kind == Kind::kDifference || kind == Kind::kReals;
}

// The digits of a numeral, with leading zeros dropped.
std::string digits_of(const Tree& tree, Place at) {
  std::string digits;
  if (tree.kind(at) == Kind::kNumber) {
    digits = tree[at].text;
  } else {
    for (const Place piece : tree.children(at)) digits += tree[piece].text;
  }
  for (char& c : digits) c = to_lower(c);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
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
  if (tree_.kind(truth) == Kind::kPercent || tree_.kind(prediction) == Kind::kPercent) {
    return percentages(truth, prediction);
  }
  return scalars(truth, prediction);
}

// Equal as values; or, if lenient, as the numbers that are printed.
bool Comparer::percentages(Place truth, Place prediction) {
  const bool wanted = tree_.kind(truth) == Kind::kPercent;
  const bool given = tree_.kind(prediction) == Kind::kPercent;
  if (wanted && given) return scalars(tree_.left(truth), tree_.left(prediction));
  if (scalars(truth, prediction)) return true;
  if (!options_.lenient_percent) return false;
  return scalars(wanted ? tree_.left(truth) : truth, given ? tree_.left(prediction) : prediction);
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
  return as_sets(truth, prediction);
}

bool Comparer::one_by_one(Place truth, Place prediction) {
  return operands_equal(tree_.children(truth), tree_.children(prediction));
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
      if ((matched && found[i]) || !equal(one, given[i])) continue;
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
  if (!options_.interval_from_inequality && contains(tree_, prediction, Kind::kRelation)) return false;
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
    return i < parts.size() ? digits_of(tree_, parts[i]) : std::string();
  };
  for (std::size_t i = 0; i < 3; ++i) {
    if (value(wanted, i) != value(given, i)) return false;
  }
  return true;
}

// The base may be left out on one side, but then the digits must be those of the numeral.
bool Comparer::numerals(Place truth, Place prediction) const {
  const auto is_numeral = [&](Place at) { return tree_.kind(at) == Kind::kBaseNumeral; };
  const auto readable = [&](Place at) { return is_numeral(at) || tree_.kind(at) == Kind::kNumber; };
  if (!readable(truth) || !readable(prediction)) return false;
  if (is_numeral(truth) && is_numeral(prediction) && tree_[truth].text != tree_[prediction].text) return false;
  return digits_of(tree_, truth) == digits_of(tree_, prediction);
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
