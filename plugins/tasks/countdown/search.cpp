#include "search.h"

#include <algorithm>
#include <deque>
#include <tuple>

namespace drift::countdown {
namespace {

// A number, or two expressions joined by an operator.
struct Expression {
  std::int64_t value = 0;
  char joined_by = 0;  // 0: a number
  const Expression* left = nullptr;
  const Expression* right = nullptr;
  int products = 0;
  int brackets = 0;
  std::uint64_t order =
      0;  // from left to right, 4 bits each: a number's place among those given, an operator's in "+-*/"
  int order_length = 0;

  auto cost() const { return std::tuple(products, brackets, order); }
};

bool is_sum(const Expression& e) { return e.joined_by == '+' || e.joined_by == '-'; }
bool is_product(const Expression& e) { return e.joined_by == '*' || e.joined_by == '/'; }

bool needs_brackets(char joined_by, const Expression& side, bool on_the_right) {
  if (joined_by == '*' || joined_by == '/') return is_sum(side) || (on_the_right && is_product(side));
  return joined_by == '-' && on_the_right && is_sum(side);
}

std::uint64_t rank(char joined_by) { return std::string_view("+-*/").find(joined_by); }

// Values are positive; what leaves the positive integers gives 0.
std::int64_t apply(std::int64_t a, char joined_by, std::int64_t b) {
  switch (joined_by) {
    case '+': return a + b;
    case '-': return std::max<std::int64_t>(a - b, 0);
    case '*': return a * b;
    default: return a % b == 0 ? a / b : 0;
  }
}

std::string text_of(const Expression& e) {
  if (e.joined_by == 0) return std::to_string(e.value);
  const auto side = [&](const Expression& of, bool on_the_right) {
    const std::string text = text_of(of);
    return needs_brackets(e.joined_by, of, on_the_right) ? "(" + text + ")" : text;
  };
  return side(*e.left, false) + e.joined_by + side(*e.right, true);
}

class Search {
 public:
  Search(std::int64_t target, const std::string& operators) : target_(target), operators_(operators) {}

  // Joins any two of the expressions, in either order, until one is left.
  void run(const std::vector<const Expression*>& all) {
    if (all.size() == 1 && all.front()->value == target_ && (!best_ || all.front()->cost() < best_->cost())) {
      best_ = *all.front();
      text_ = text_of(*best_);
    }
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t b = 0; b < all.size(); ++b) {
        if (a != b) join(all, a, b);
      }
    }
  }

  std::optional<Solution> best() const {
    if (!best_) return std::nullopt;
    return Solution{text_, best_->products == 0};
  }

 private:
  void join(const std::vector<const Expression*>& all, std::size_t a, std::size_t b) {
    for (const char joined_by : operators_) {
      const Expression& left = *all[a];
      const Expression& right = *all[b];
      Expression joined;
      joined.value = apply(left.value, joined_by, right.value);
      if (joined.value <= 0 || (all.size() == 2 && joined.value != target_)) continue;
      joined.joined_by = joined_by;
      joined.left = &left;
      joined.right = &right;
      joined.products = left.products + right.products + is_product(joined);
      joined.brackets = left.brackets + right.brackets + needs_brackets(joined_by, left, false) +
                        needs_brackets(joined_by, right, true);
      joined.order = (((left.order << 4) | rank(joined_by)) << (4 * right.order_length)) | right.order;
      joined.order_length = left.order_length + 1 + right.order_length;
      std::vector<const Expression*> rest{&joined};
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i != a && i != b) rest.push_back(all[i]);
      }
      run(rest);
    }
  }

  std::int64_t target_;
  const std::string& operators_;
  std::optional<Expression> best_;
  std::string text_;
};

// Four numbers up to 1000 keep numerators and denominators, never reduced, far below 64 bits.
struct Fraction {
  std::int64_t above = 0;
  std::int64_t below = 1;  // not 0, except where a division has no result
};

Fraction apply(const Fraction& a, char joined_by, const Fraction& b) {
  switch (joined_by) {
    case '+': return {a.above * b.below + b.above * a.below, a.below * b.below};
    case '-': return {a.above * b.below - b.above * a.below, a.below * b.below};
    case '*': return {a.above * b.above, a.below * b.below};
    default: return {a.above * b.below, a.below * b.above};
  }
}

// Whether joining the values, two at a time, can give the target.
bool reaches(const std::vector<Fraction>& values, std::int64_t target, const std::string& operators,
             const Rules& rules) {
  const auto is_target = [&](const Fraction& value) { return value.above == target * value.below; };
  if (values.size() == 1 || !rules.all_numbers) {
    if (std::any_of(values.begin(), values.end(), is_target)) return true;
  }
  for (std::size_t a = 0; a < values.size(); ++a) {
    for (std::size_t b = 0; b < values.size(); ++b) {
      if (a == b) continue;
      std::vector<Fraction> rest;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i != a && i != b) rest.push_back(values[i]);
      }
      rest.emplace_back();
      for (const char joined_by : operators) {
        const Fraction joined = apply(values[a], joined_by, values[b]);
        if (joined.below == 0) continue;
        if (rules.positive_integers && (joined.above / joined.below < 1 || joined.above % joined.below != 0)) continue;
        rest.back() = joined;
        if (reaches(rest, target, operators, rules)) return true;
      }
    }
  }
  return false;
}

}  // namespace

bool is_solvable(const std::vector<std::int64_t>& numbers, std::int64_t target, const std::string& operators,
                 const Rules& rules) {
  std::vector<Fraction> values;
  for (const std::int64_t number : numbers) values.push_back({number, 1});
  return reaches(values, target, operators, rules);
}

std::optional<Solution> simplest_solution(const std::vector<std::int64_t>& numbers, std::int64_t target,
                                          const std::string& operators) {
  std::deque<Expression> leaves;
  std::vector<const Expression*> all;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    leaves.push_back({.value = numbers[i], .order = i, .order_length = 1});
    all.push_back(&leaves.back());
  }
  Search search(target, operators);
  search.run(all);
  return search.best();
}

}  // namespace drift::countdown
