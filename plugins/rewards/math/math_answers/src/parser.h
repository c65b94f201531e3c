#pragma once

#include "lexer.h"
#include "tree.h"

#include <cstddef>
#include <vector>

namespace math_answers {

/// Whether a node stands for something to be found, as the left side of "x = 3" does: a variable, f(x), AB, \angle A,
/// words, or a tuple of such.
bool is_name(const Tree& tree, Place at);

/// The determinant of a square matrix as sums of products of its entries.
/// @throws Unreadable for what is no matrix, is not square or has more than 6 rows
Place determinant(Tree& tree, Place matrix);

/// Recursive descent over the tokens of one answer. From the loosest to the tightest: separators; relations; unions;
/// sums with their signs; products, in which juxtaposition, *, / and : bind alike, from left to right (1/2x is half of
/// x); powers. Numbers behind \frac, \sqrt without braces give one digit, as in TeX; behind ^ all of them.
class Parser {
 public:
  Parser(Tokens& tokens, Tree& tree) : tokens_(tokens.list()), tree_(tree) {}

  /// @throws Unreadable
  Place answer();

 private:
  const Token& here() const { return tokens_[at_]; }
  Sign sign() const { return tokens_[at_].sign; }
  Sign sign_at(std::size_t i) const { return i < tokens_.size() ? tokens_[i].sign : Sign::kEnd; }
  bool take(Sign sign);
  void expect(Sign sign);
  bool at_separator() const;

  // parse_answer.cpp
  Place item();
  Place time();
  Place left_side();
  Place operand();
  Place residue(Place value);
  Place set_expression();
  void relate(std::vector<Place>& operands);
  Place joined(std::vector<Place> items, bool by_and, bool by_or);
  std::vector<Place> spread(Place at, int first_sign);
  Place with_signs(Place at, unsigned minus);

  // parse_expression.cpp
  Place sum();
  Place terms();
  Place plus_minus(Place left);
  Place product(bool stop_at_function);
  bool starts_factor() const;
  Place factor();
  Place fraction(Place above, Place below);
  Place mixed_number(Place whole);
  Place power();
  Place postfix(Place base);
  bool circle();
  Place exponent();
  Place argument(bool whole_number);

  // parse_atom.cpp
  Place atom();
  Place letter();
  Place symbol(Place at);
  Place number();
  Place base_numeral();
  Place bracketed_numeral();
  Place numeral(const std::vector<Place>& pieces);
  std::string_view base();
  Place call(std::string_view name);
  Place text();
  Place braces();
  Place group();
  Place set();
  Place between(Kind kind, Sign close);
  Place root();
  std::vector<Place> elements(bool spread_signs);

  // parse_condition.cpp
  std::size_t condition_at(std::size_t begin) const;
  Place condition(Place variable);
  Place region(Place variable, Place said);
  Place half_line(Place bound, Relation relation, bool turned);

  // parse_function.cpp
  Place function();
  Place several_arguments(Function function);
  Place binomial(Place above, Place below);
  Place matrix();
  Place row();

  Tokens::List& tokens_;
  Tree& tree_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int bars_ = 0;           // |...| that are open
  int plus_minus_ = 0;     // how many \pm the operand has
  bool opposite_ = false;  // whether one of them is \mp
};

}  // namespace math_answers
