#include "parser.h"

#include <array>

namespace math_answers {
namespace {

bool is_trigonometric(Function function) { return function <= Function::kCsc; }
bool takes_several(Function function) { return function >= Function::kGcd && function <= Function::kMin; }

Function inverse_of(Function function) {
  return static_cast<Function>(static_cast<int>(function) + static_cast<int>(Function::kArcsin));
}

constexpr std::size_t kMostRows = 6;

// Expansion along the rows, from the last one up: each minor is a choice of columns, and is built once.
class Expansion {
 public:
  Expansion(Tree& tree, std::vector<std::vector<Place>> rows) : tree_(tree), rows_(std::move(rows)) {
    built_.fill(kNone);
  }

  // Of the last rows, as many as there are bits in `columns`.
  Place minor(unsigned columns) {
    Place& built = built_[columns];
    if (built != kNone) return tree_.share(built);
    const auto size = static_cast<std::size_t>(__builtin_popcount(columns));
    const auto& row = rows_[rows_.size() - size];
    Place sum = kNone;
    bool negative = false;
    for (std::size_t column = 0; column < rows_.size(); ++column) {
      const unsigned bit = 1u << column;
      if ((columns & bit) == 0) continue;
      Place term = tree_.share(row[column]);
      if (size > 1) term = tree_.add(Kind::kProduct, term, minor(columns & ~bit));
      if (negative) term = tree_.add(Kind::kNegate, term);
      sum = sum == kNone ? term : tree_.add(Kind::kSum, sum, term);
      negative = !negative;
    }
    return built_[columns] = sum;
  }

 private:
  Tree& tree_;
  std::vector<std::vector<Place>> rows_;
  std::array<Place, 1u << kMostRows> built_;
};

}  // namespace

Place determinant(Tree& tree, Place matrix) {
  if (tree.kind(matrix) != Kind::kMatrix) throw Unreadable{"the determinant of something that is no matrix"};
  std::vector<std::vector<Place>> rows;
  for (const Place row : tree.children(matrix)) rows.push_back(tree.children(row));
  for (const auto& row : rows) {
    if (row.size() != rows.size() || rows.size() > kMostRows) throw Unreadable{"a determinant without a value"};
  }
  const auto all = (1u << rows.size()) - 1;
  return Expansion(tree, std::move(rows)).minor(all);
}

// \sin x, \sin^2 x, \sin^{-1} x, \log_2 x, \gcd(a, b).
Place Parser::function() {
  Function function = here().function();
  ++at_;
  Place base = kNone;
  Place exponent = kNone;
  if (function == Function::kLog && take(Sign::kUnderscore)) base = argument(false);
  if (take(Sign::kCaret)) {
    exponent = this->exponent();
    const bool inverts = tree_.kind(exponent) == Kind::kNegate && tree_.kind(tree_.left(exponent)) == Kind::kNumber &&
                         tree_[tree_.left(exponent)].text == "1";
    if (inverts && is_trigonometric(function)) {
      function = inverse_of(function);
      exponent = kNone;
    }
  }
  if (takes_several(function)) return several_arguments(function);
  const bool bracketed = sign() == Sign::kOpenRound || sign() == Sign::kOpenBrace;
  const Place argument = bracketed ? atom() : product(true);
  Place value;
  if (function == Function::kDet) {
    value = determinant(tree_, argument);
  } else if (function == Function::kExp) {
    value = tree_.add(Kind::kPower, tree_.add(Kind::kEuler), argument);
  } else {
    value = base == kNone ? tree_.add(Kind::kFunction, argument) : tree_.add(Kind::kFunction, argument, base);
    tree_[value].detail = static_cast<std::uint8_t>(function);
  }
  return exponent == kNone ? value : tree_.add(Kind::kPower, value, exponent);
}

Place Parser::several_arguments(Function function) {
  const bool round = take(Sign::kOpenRound);
  if (!round) expect(Sign::kOpenSet);
  const auto all = elements(false);
  expect(round ? Sign::kCloseRound : Sign::kCloseSet);
  return tree_.add(Kind::kFunction, all, static_cast<std::uint8_t>(function));
}

// With variables above a number of one digit: n (n - 1) ... / k!, which is a polynomial.
Place Parser::binomial(Place above, Place below) {
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view digit = tree_[below].text;
  if (tree_.kind(below) != Kind::kNumber || digit.size() != 1 || digit == "0" || !has_variables(tree_, above)) {
    return tree_.add(Kind::kBinomial, above, below);
  }
  Place product = tree_.share(above);
  for (std::size_t i = 1; i < kDigits.find(digit); ++i) {
    const Place number = tree_.add(Kind::kNumber, 0, kDigits.substr(i, 1));
    const Place factor = tree_.add(Kind::kSum, tree_.share(above), tree_.add(Kind::kNegate, number));
    product = tree_.add(Kind::kProduct, product, factor);
  }
  return tree_.add(Kind::kQuotient, product, tree_.add(Kind::kFactorial, below));
}

// Brackets of any style, or bars, which make it a determinant.
Place Parser::matrix() {
  const std::string_view environment = here().text;
  expect(Sign::kBegin);
  const bool bars = environment == "vmatrix";
  bool known = bars;
  for (const std::string_view name : {"pmatrix", "bmatrix", "Bmatrix", "Vmatrix", "matrix", "smallmatrix", "array"}) {
    known = known || environment == name;
  }
  if (!known) throw Unreadable{"an unknown environment"};
  std::vector<Place> rows;
  while (sign() != Sign::kClose) {
    while (take(Sign::kRule)) continue;
    if (sign() == Sign::kClose) break;
    rows.push_back(row());
    if (!take(Sign::kRowEnd) && sign() != Sign::kClose) throw Unreadable{"a matrix is not closed"};
  }
  expect(Sign::kClose);
  if (rows.empty()) throw Unreadable{"an empty matrix"};
  const Place whole = tree_.add(Kind::kMatrix, rows);
  return bars ? determinant(tree_, whole) : whole;
}

Place Parser::row() {
  std::vector<Place> entries;
  do {
    entries.push_back(sum());
  } while (take(Sign::kAmpersand));
  return tree_.add(Kind::kRow, entries);
}

}  // namespace math_answers
