// Values with their names: "x = 1, y = 2".

#include "comparison.h"

#include <algorithm>

namespace math_answers {
namespace {

using Named = NamedValues;

bool is_assigned(const Tree& tree, Place at) {
  return tree.kind(at) == Kind::kRelation && tree.count(at) == 2 && tree.kind(tree.left(at)) == Kind::kSymbol &&
         tree[tree.right(at)].relation == Relation::kEqual && tree.kind(tree.right(at)) != Kind::kList;
}

// The letter, its primes, and the number or letter below it.
std::string name_of(const Tree& tree, Place symbol) {
  std::string name = lower(tree[symbol].text);
  name.append(tree[symbol].detail, '\'');
  if (const Place below = tree.left(symbol); below != kNone) name += std::string("_") + std::string(tree[below].text);
  return name;
}

// "y = 2, x = 1"; "(y, x) = (2, 1)": names and values as they are written. Empty for anything else.
Named written_names(const Tree& tree, Place at) {
  Named all;
  const auto keep = [&](Place name, Place value) { all.emplace_back(name_of(tree, name), value); };
  if (tree.kind(at) == Kind::kList) {
    for (Place one = tree.left(at); one != kNone; one = tree[one].next) {
      if (!is_assigned(tree, one)) return {};
      keep(tree.left(one), tree.right(one));
    }
  } else if (tree.kind(at) == Kind::kRelation && tree.count(at) == 2 && tree.kind(tree.left(at)) == Kind::kTuple &&
             tree.kind(tree.right(at)) == Kind::kTuple && tree.count(tree.left(at)) == tree.count(tree.right(at))) {
    Place value = tree.left(tree.right(at));
    for (Place one = tree.left(tree.left(at)); one != kNone; one = tree[one].next, value = tree[value].next) {
      if (tree.kind(one) != Kind::kSymbol) return {};
      keep(one, value);
    }
  }
  return all;
}

// Names with one value each, in the order of the names. Empty where a name has two values, or only one of the values
// holds.
Named named(const Tree& tree, Place at) {
  if (tree.kind(at) == Kind::kList && tree[at].detail == kJoinedByOr) return {};
  Named all = written_names(tree, at);
  std::ranges::sort(all);
  const auto twice =
      std::ranges::adjacent_find(all, [](const auto& a, const auto& b) { return a.first == b.first; }) != all.end();
  return twice ? Named() : all;
}

std::vector<Place> values_of(const Named& names) {
  std::vector<Place> values;
  for (const auto& [name, value] : names) values.push_back(value);
  return values;
}

// The letter that all values are given to, with numbers below it or not: x of "x = 1 or x = 2" and of "x_1 = 1, x_2 =
// 2".
std::string only_letter(const Named& names) {
  std::string letter;
  for (const auto& [name, value] : names) {
    const std::string here = name.substr(0, name.find('_'));
    if (!letter.empty() && here != letter) return {};
    letter = here;
  }
  return letter;
}

// Whether all names are Latin letters, whose order is known.
bool are_letters(const Named& names) {
  return std::ranges::all_of(names, [](const auto& one) { return one.first.size() == 1 || one.first[1] == '_'; });
}

}  // namespace

// "y = 2, x = 1" is (1, 2). Nothing where it does not depend on the names.
std::optional<bool> Comparer::named_values(Place truth, Place prediction) {
  if (const auto decided = one_unknown(truth, prediction)) return decided;
  const Named wanted = named(tree_, truth);
  const Named given = named(tree_, prediction);
  if (wanted.empty() && given.empty()) return std::nullopt;
  if (!wanted.empty() && !given.empty()) {
    const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
    return std::ranges::equal(wanted, given, same_name) && operands_equal(values_of(wanted), values_of(given));
  }
  if (given.empty()) return without_names(truth, wanted, prediction);
  if (tree_.kind(truth) != Kind::kTuple || !are_letters(given)) return std::nullopt;
  return operands_equal(tree_.children(truth), values_of(given));
}

// Several values of one unknown, which its letter may number: "x_1 = 1, x_2 = 2" for "x = 1 or x = 2". They are no
// point.
std::optional<bool> Comparer::one_unknown(Place truth, Place prediction) {
  const Named given = written_names(tree_, prediction);
  if (given.empty()) return std::nullopt;
  if (tree_.kind(truth) == Kind::kTuple && named(tree_, prediction).empty()) return false;
  const Named wanted = written_names(tree_, truth);
  const std::string letter = only_letter(wanted);
  if (letter.empty() || only_letter(given) != letter) return std::nullopt;
  const auto is_letter = [&](const auto& one) { return one.first == letter; };
  if (!std::ranges::all_of(wanted, is_letter) && !std::ranges::all_of(given, is_letter)) return std::nullopt;
  const auto listed = [&](const Named& names) {
    std::vector<Place> values;
    for (const auto& [name, value] : names) values.push_back(tree_.share(value));
    return tree_.add(Kind::kList, values);
  };
  const Place values = listed(wanted);
  return as_sets(values, listed(given));
}

// The truth names its values, the answer does not: then it gives them in the order of the truth, or of the names.
std::optional<bool> Comparer::without_names(Place truth, const NamedValues& wanted, Place prediction) {
  const Kind given = tree_.kind(prediction);
  if (tree_.kind(truth) != Kind::kList || (given != Kind::kList && given != Kind::kTuple)) return std::nullopt;
  const bool by_letters = are_letters(wanted) && operands_equal(values_of(wanted), tree_.children(prediction));
  if (given == Kind::kTuple) return are_letters(wanted) ? std::optional(by_letters) : std::nullopt;
  if (tree_.kind(tree_.left(prediction)) == Kind::kRelation) {
    const bool alternatives = tree_[prediction].detail == kJoinedByOr && !written_names(tree_, prediction).empty();
    return alternatives ? std::optional(false) : std::nullopt;
  }
  return by_letters || operands_equal(values_of(written_names(tree_, truth)), tree_.children(prediction));
}

}  // namespace math_answers
