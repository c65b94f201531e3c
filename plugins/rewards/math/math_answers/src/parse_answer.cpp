#include "parser.h"

#include <algorithm>

namespace math_answers {
namespace {

constexpr int kMostSigns = 4;

bool is_digits(std::string_view text, std::size_t shortest, std::size_t longest) {
  return text.size() >= shortest && text.size() <= longest && all_digits(text);
}

bool is_capital(std::string_view name) { return name.size() == 1 && name.front() >= 'A' && name.front() <= 'Z'; }

// AB, \angle ABC, m\angle A: a product of capitals and of signs such as \angle.
bool names_figure(const Tree& tree, Place at) {
  if (tree.kind(at) == Kind::kProduct) return names_figure(tree, tree.left(at)) && names_figure(tree, tree.right(at));
  const std::string_view name = tree[at].text;
  return tree.kind(at) == Kind::kSymbol && (is_capital(name) || name == "angle" || name == "triangle" || name == "m");
}

// V(x): written as a product, meant as a function.
bool names_function(const Tree& tree, Place at) {
  if (tree.kind(at) == Kind::kCall) return true;
  return tree.kind(at) == Kind::kProduct && tree.kind(tree.left(at)) == Kind::kSymbol &&
         tree.kind(tree.right(at)) == Kind::kSymbol && tree[at].detail == 1;
}

}  // namespace

bool is_name(const Tree& tree, Place at) {
  switch (tree.kind(at)) {
    case Kind::kSymbol:
    case Kind::kText:
    case Kind::kEuler: return true;
    case Kind::kCall:
    case Kind::kProduct: return names_function(tree, at) || names_figure(tree, at);
    case Kind::kTuple: {
      const auto parts = tree.children(at);
      return std::ranges::all_of(parts, [&](Place part) { return is_name(tree, part); });
    }
    default: return false;
  }
}

bool Parser::take(Sign sign) {
  if (here().sign != sign) return false;
  ++at_;
  return true;
}

void Parser::expect(Sign sign) {
  if (!take(sign)) throw Unreadable{"not closed, or followed by something without a meaning"};
}

bool Parser::at_separator() const { return sign() == Sign::kComma || sign() == Sign::kAnd || sign() == Sign::kOr; }

Place Parser::answer() {
  std::vector<Place> items;
  bool by_and = false;
  bool by_or = false;
  for (;;) {
    const Place next = item();
    if (tree_.kind(next) == Kind::kList) {
      for (const Place one : tree_.children(next)) items.push_back(one);
    } else {
      items.push_back(next);
    }
    if (!at_separator()) break;
    by_and = by_and || sign() == Sign::kAnd;
    by_or = by_or || sign() == Sign::kOr;
    ++at_;
    if (sign() == Sign::kEnd) throw Unreadable{"nothing behind a comma"};
  }
  expect(Sign::kEnd);
  return items.size() == 1 ? items.front() : joined(std::move(items), by_and, by_or);
}

// "x = 1, 2" gives x two values.
Place Parser::joined(std::vector<Place> items, bool by_and, bool by_or) {
  const auto is_relation = [&](Place at) { return tree_.kind(at) == Kind::kRelation; };
  const std::uint8_t detail = by_or ? kJoinedByOr : by_and ? kJoinedByAnd : 0;
  const Place first = items.front();
  if (!is_relation(first) || std::any_of(items.begin() + 1, items.end(), is_relation) || tree_.count(first) != 2 ||
      !is_name(tree_, tree_.left(first))) {
    return tree_.add(Kind::kList, items, detail);
  }
  const Relation relation = tree_[tree_.right(first)].relation;
  items.front() = tree_.share(tree_.right(first));
  const Place list = tree_.add(Kind::kList, items, detail);
  tree_[list].relation = relation;
  return tree_.add(Kind::kRelation, tree_.share(tree_.left(first)), list);
}

Place Parser::item() {
  if (const Place found = time(); found != kNone) return found;
  std::vector<Place> operands = {left_side()};
  if (sign() == Sign::kRelation) relate(operands);
  if (operands.size() == 1) return operands.front();
  if (operands.size() == 2 && tree_[operands[1]].relation == Relation::kMember) return operands[1];
  return tree_.add(Kind::kRelation, operands);
}

// "a = b", "a < b < c"; what follows \approx is a rounded copy, except behind a name.
void Parser::relate(std::vector<Place>& operands) {
  while (sign() == Sign::kRelation) {
    Relation relation = here().relation();
    ++at_;
    const bool rounded = relation == Relation::kApproximately;
    if (rounded && operands.size() == 1 && is_name(tree_, operands.front())) relation = Relation::kEqual;
    const Place next = operand();
    if (relation == Relation::kApproximately) continue;
    tree_[next].relation = relation;
    operands.push_back(next);
  }
}

// 4:51:06 p.m.; 9:24; 9 a.m. A colon with spaces around it is a ratio.
Place Parser::time() {
  if (sign() != Sign::kNumber || !is_digits(here().text, 1, 2)) return kNone;
  std::vector<Place> parts;
  std::size_t next = at_;
  const auto add = [&] { parts.push_back(tree_.add(Kind::kNumber, 0, tokens_[next++].text)); };
  const bool has_minutes = sign_at(at_ + 1) == Sign::kColon;
  if (!has_minutes && sign_at(at_ + 1) != Sign::kMeridiem) return kNone;
  add();
  while (parts.size() < 3 && sign_at(next) == Sign::kColon && !tokens_[next].spaced) {
    const Token& digits = tokens_[next + 1];
    if (digits.sign != Sign::kNumber || digits.spaced || !is_digits(digits.text, 2, 2)) return kNone;
    ++next;
    add();
  }
  std::uint8_t half = 0;
  if (sign_at(next) == Sign::kMeridiem) half = tokens_[next++].detail;
  const Sign behind = sign_at(next);
  const bool ends = behind == Sign::kEnd || behind == Sign::kComma || behind == Sign::kAnd || behind == Sign::kOr;
  if (!ends || (parts.size() == 1 && half == 0)) return kNone;
  at_ = next;
  return tree_.add(Kind::kTime, parts, half);
}

// The left side of an equation may be anything that names what is to be found.
Place Parser::left_side() {
  const std::size_t begin = at_;
  try {
    return operand();
  } catch (const Unreadable&) {
    const auto equals = std::find_if(
        tokens_.begin() + static_cast<std::ptrdiff_t>(begin), tokens_.end(),
        [](const Token& token) { return token.sign == Sign::kRelation && token.relation() == Relation::kEqual; });
    if (equals == tokens_.end() || begin != 0 || equals == tokens_.begin()) throw;
    // Within a condition, {x | x = ...}: what was read of it has lost its digits.
    if (at_ > static_cast<std::size_t>(equals - tokens_.begin())) throw;
    at_ = static_cast<std::size_t>(equals - tokens_.begin());
    depth_ = bars_ = 0;
    return tree_.add(Kind::kText, 0, "left side");
  }
}

Place Parser::operand() {
  plus_minus_ = 0;
  opposite_ = false;
  const Place value = residue(set_expression());
  if (plus_minus_ == 0) return value;
  return tree_.add(Kind::kList, spread(value, 0));
}

// 3 \pmod{7}, 3 mod 7, 3 (mod 7)
Place Parser::residue(Place value) {
  const bool bracketed = sign() == Sign::kOpenRound;
  if (sign_at(at_ + bracketed) != Sign::kModulo) return value;
  at_ += bracketed + 1;
  const Place modulus = power();
  if (bracketed) expect(Sign::kCloseRound);
  return tree_.add(Kind::kResidue, value, modulus);
}

Place Parser::set_expression() {
  Place left = sum();
  for (;;) {
    Kind kind;
    switch (sign()) {
      case Sign::kUnion: kind = Kind::kUnion; break;
      case Sign::kIntersection: kind = Kind::kIntersection; break;
      case Sign::kDifference: kind = Kind::kDifference; break;
      default: return left;
    }
    ++at_;
    left = tree_.add(kind, left, sum());
  }
}

// Every choice of the signs from number `first_sign` on: independent, except where \mp ties them together.
std::vector<Place> Parser::spread(Place at, int first_sign) {
  const int count = plus_minus_ - first_sign;
  if (count == 0) return {at};
  if (count > kMostSigns) throw Unreadable{"too many \\pm"};
  std::vector<Place> values;
  for (unsigned choice = 0; choice < (opposite_ ? 2u : 1u << count); ++choice) {
    values.push_back(with_signs(at, (opposite_ ? choice * ~0u : choice) << first_sign));
  }
  return values;
}

// A copy in which each \pm is a plus, or a minus where its bit is set.
Place Parser::with_signs(Place at, unsigned minus) {
  const Node node = tree_[at];
  std::vector<Place> children;
  for (const Place child : tree_.children(at)) {
    const Place copy = with_signs(child, minus);
    tree_[copy].relation = tree_[child].relation;
    children.push_back(copy);
  }
  if (node.kind == Kind::kPlusMinus) {
    const bool negative = ((minus >> (node.detail / 2)) & 1u) != (node.detail & 1u);
    const Place last = negative ? tree_.add(Kind::kNegate, children.back()) : children.back();
    return children.size() == 1 ? last : tree_.add(Kind::kSum, children.front(), last);
  }
  const Place copy = tree_.add(node.kind, children, node.detail);
  tree_[copy].text = node.text;
  return copy;
}

}  // namespace math_answers
