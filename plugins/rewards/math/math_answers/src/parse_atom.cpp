#include "parser.h"

#include <algorithm>
#include <utility>

namespace math_answers {
namespace {

// Whether every letter of a numeral is a digit of its base: A of A5_{11}. Capitals, as 3a_{12} is three times a_{12}.
// `any_case`: small letters too.
bool letters_fit(std::string_view digits, int base, bool any_case) {
  return std::ranges::all_of(digits, [&](char c) {
    return is_digit(c) || (is_letter(c) && (any_case || c <= 'Z') && to_lower(c) - 'a' + 10 < base);
  });
}

// The bases that are spelled out.
std::string_view number_in_words(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kNumbers[] = {
      {"two", "2"},   {"three", "3"}, {"four", "4"}, {"five", "5"},    {"six", "6"},     {"seven", "7"},
      {"eight", "8"}, {"nine", "9"},  {"ten", "10"}, {"twelve", "12"}, {"sixteen", "16"}};
  for (const auto& [name, digits] : kNumbers) {
    if (word == name) return digits;
  }
  return {};
}

int to_int(std::string_view digits) {
  int value = 0;
  for (const char c : digits.substr(0, 4)) value = 10 * value + (c - '0');
  return value;
}

}  // namespace

Place Parser::atom() {
  const Token& token = here();
  switch (token.sign) {
    case Sign::kNumber: return number();
    case Sign::kLetter: return letter();
    case Sign::kText: return text();
    case Sign::kSymbol: ++at_; return symbol(tree_.add(Kind::kSymbol, 0, token.text));
    case Sign::kPi: ++at_; return tree_.add(Kind::kPi);
    case Sign::kInfinity: ++at_; return tree_.add(Kind::kInfinity);
    case Sign::kReals: ++at_; return tree_.add(Kind::kReals);
    case Sign::kEmptySet: ++at_; return tree_.add(Kind::kSet);
    case Sign::kOpenRound:
    case Sign::kOpenSquare: return group();
    case Sign::kOpenBrace: return braces();
    case Sign::kOpenSet: return set();
    case Sign::kBar: return between(Kind::kAbsolute, Sign::kBar);
    case Sign::kOpenBar: return between(Kind::kAbsolute, Sign::kCloseBar);
    case Sign::kOpenFloor: return between(Kind::kFloor, Sign::kCloseFloor);
    case Sign::kOpenCeiling: return between(Kind::kCeiling, Sign::kCloseCeiling);
    case Sign::kRoot: return root();
    case Sign::kFunction: return function();
    case Sign::kBegin: return matrix();
    case Sign::kAccent: ++at_; return call(token.text);
    case Sign::kFraction:
    case Sign::kBinomial: {
      ++at_;
      const Place above = argument(false);
      const Place below = argument(false);
      return token.sign == Sign::kFraction ? tree_.add(Kind::kQuotient, above, below) : binomial(above, below);
    }
    default: throw Unreadable{"a value is missing"};
  }
}

Place Parser::number() {
  if (const Place found = base_numeral(); found != kNone) return found;
  return tree_.add(Kind::kNumber, 0, tokens_[at_++].text);
}

// 101_2, 0.0011_{2}, 152A_{11}, A5_{11}.
Place Parser::base_numeral() {
  std::vector<Place> pieces;
  std::size_t end = at_;
  bool has_digits = false;
  bool has_letters = false;
  for (; sign_at(end) == Sign::kNumber || sign_at(end) == Sign::kLetter || sign_at(end) == Sign::kText; ++end) {
    if (end > at_ && tokens_[end].spaced) return kNone;
    has_digits = has_digits || tokens_[end].text.find_first_of("0123456789") != std::string_view::npos;
    has_letters = has_letters || tokens_[end].sign != Sign::kNumber;
  }
  // A word of letters alone is one numeral, single letters are variables.
  const bool word = end == at_ + 1 && here().sign == Sign::kText && here().text.size() > 1;
  if (!(has_digits || word) || sign_at(end) != Sign::kUnderscore) return kNone;
  const std::size_t begin = at_;
  at_ = end;
  const std::string_view base = this->base();
  bool fits = base.size() < 3 && to_int(base) > 1;
  for (std::size_t i = begin; i < end; ++i) {
    pieces.push_back(tree_.add(Kind::kText, 0, tokens_[i].text));
    fits = fits && (!has_letters || letters_fit(tokens_[i].text, to_int(base), word));
  }
  if (!fits && has_letters) {
    at_ = begin;
    return kNone;
  }
  if (!fits) throw Unreadable{"a base without a meaning"};
  const Place numeral = tree_.add(Kind::kBaseNumeral, pieces);
  tree_[numeral].text = base;
  return numeral;
}

// (2F)_{16}, (FF)_{16}: digits with letters among them in brackets.
Place Parser::bracketed_numeral() {
  std::size_t close = at_ + 1;
  bool has_letters = false;
  for (; sign_at(close) == Sign::kNumber || sign_at(close) == Sign::kLetter || sign_at(close) == Sign::kText; ++close) {
    if (close > at_ + 1 && tokens_[close].spaced) return kNone;
    has_letters = has_letters || tokens_[close].sign != Sign::kNumber;
  }
  if (!has_letters || sign_at(close) != Sign::kCloseRound || sign_at(close + 1) != Sign::kUnderscore) return kNone;
  const std::size_t begin = std::exchange(at_, close + 1);
  const std::string_view base = this->base();
  std::vector<Place> pieces;
  for (std::size_t i = begin + 1; i < close; ++i) {
    if (!letters_fit(tokens_[i].text, to_int(base), true)) throw Unreadable{"a digit beyond its base"};
    pieces.push_back(tree_.add(Kind::kText, 0, tokens_[i].text));
  }
  const Place numeral = tree_.add(Kind::kBaseNumeral, pieces);
  tree_[numeral].text = base;
  return numeral;
}

// The number behind an underscore, also as a word; empty, and nothing is read, if there is none.
std::string_view Parser::base() {
  std::size_t digits = at_ + 1;
  const bool braced = sign_at(digits) == Sign::kOpenBrace;
  digits += braced;
  if (braced && sign_at(digits + 1) != Sign::kCloseBrace) return {};
  const bool spelled = sign_at(digits) == Sign::kText;
  const std::string_view base = spelled ? number_in_words(tokens_[digits].text) : tokens_[digits].text;
  if ((!spelled && sign_at(digits) != Sign::kNumber) || base.empty() || !all_digits(base)) return {};
  at_ = digits + (braced ? 2 : 1);
  return base;
}

Place Parser::letter() {
  if (const Place found = base_numeral(); found != kNone) return found;
  const std::string_view name = tokens_[at_++].text;
  const bool subscript = sign() == Sign::kUnderscore;
  if (name == "e" && !subscript) return tree_.add(Kind::kEuler);
  if (name == "i" && !subscript) return tree_.add(Kind::kImaginary);
  const bool names_function = name == "f" || name == "g";
  const bool inverse = names_function && sign() == Sign::kCaret && sign_at(at_ + 1) == Sign::kOpenBrace &&
                       sign_at(at_ + 2) == Sign::kMinus && sign_at(at_ + 5) == Sign::kOpenRound;
  if (inverse) {
    at_ += 5;
    return call(name == "f" ? "f inverse" : "g inverse");
  }
  if (names_function && sign() == Sign::kOpenRound && !here().spaced) return call(name);
  return symbol(tree_.add(Kind::kSymbol, 0, name));
}

// Primes and a subscript.
Place Parser::symbol(Place at) {
  while (take(Sign::kPrime)) ++tree_[at].detail;
  if (!take(Sign::kUnderscore)) return at;
  Place subscript;
  if (sign() == Sign::kText || (sign() == Sign::kOpenBrace && sign_at(at_ + 1) == Sign::kText)) {
    const bool braced = take(Sign::kOpenBrace);
    subscript = tree_.add(Kind::kText, 0, tokens_[at_++].text);
    if (braced) expect(Sign::kCloseBrace);
  } else if (sign() == Sign::kLetter) {
    subscript = tree_.add(Kind::kSymbol, 0, tokens_[at_++].text);
  } else {
    subscript = argument(false);
  }
  tree_[at].first = subscript;
  return at;
}

// A function that nothing is known about: equal values for equal arguments.
Place Parser::call(std::string_view name) {
  const Place argument = atom();
  const Place at = tree_.add(Kind::kCall, argument);
  tree_[at].text = name;
  return at;
}

Place Parser::text() {
  if (const Place found = base_numeral(); found != kNone) return found;
  const std::string_view content = here().text;
  if (content.size() != 1 || !is_letter(content.front())) throw Unreadable{"words among mathematics"};
  ++at_;
  return symbol(tree_.add(Kind::kSymbol, 0, content));
}

Place Parser::braces() {
  expect(Sign::kOpenBrace);
  const Place inner = sum();
  expect(Sign::kCloseBrace);
  return inner;
}

// (1,2) a pair; (1,2] an interval; (x+1) brackets around one value; (101)_2 a numeral.
Place Parser::group() {
  if (const Place found = bracketed_numeral(); found != kNone) return found;
  const bool low_closed = sign() == Sign::kOpenSquare;
  ++at_;
  const int bars = std::exchange(bars_, 0);
  std::vector<Place> inner = elements(false);
  bars_ = bars;
  const bool high_closed = sign() == Sign::kCloseSquare;
  if (!high_closed && sign() != Sign::kCloseRound) throw Unreadable{"a bracket is not closed"};
  ++at_;
  if (inner.size() == 1 && low_closed == high_closed) {
    if (!low_closed && sign() == Sign::kUnderscore && tree_.kind(inner.front()) == Kind::kNumber) {
      return numeral(inner);
    }
    return inner.front();
  }
  if (inner.size() == 2 && (low_closed || high_closed)) {
    return tree_.add(Kind::kInterval, inner,
                     static_cast<std::uint8_t>((low_closed ? kLowClosed : 0) | (high_closed ? kHighClosed : 0)));
  }
  if (inner.size() == 1 || low_closed != high_closed) throw Unreadable{"brackets that do not match"};
  return tree_.add(Kind::kTuple, inner);
}

Place Parser::numeral(const std::vector<Place>& pieces) {
  const std::string_view base = this->base();
  if (base.empty()) throw Unreadable{"a subscript without a meaning"};
  const Place digits = tree_.add(Kind::kText, 0, tree_[pieces.front()].text);
  const Place at = tree_.add(Kind::kBaseNumeral, digits);
  tree_[at].text = base;
  return at;
}

// What stands between brackets; `spread_signs`: \pm gives two elements.
std::vector<Place> Parser::elements(bool spread_signs) {
  std::vector<Place> all;
  do {
    const int signs = plus_minus_;
    const Place one = set_expression();
    if (spread_signs && plus_minus_ > signs) {
      const auto values = spread(one, signs);
      all.insert(all.end(), values.begin(), values.end());
      plus_minus_ = signs;
      opposite_ = false;
    } else {
      all.push_back(one);
    }
  } while (take(Sign::kComma) || take(Sign::kAnd));
  return all;
}

Place Parser::set() {
  expect(Sign::kOpenSet);
  if (take(Sign::kCloseSet)) return tree_.add(Kind::kSet);
  const int bars = std::exchange(bars_, 0);
  Place found;
  if (const std::size_t behind = condition_at(at_); behind > 0) {
    const Place variable = tree_.add(Kind::kSymbol, 0, here().text);
    at_ = behind;
    found = condition(variable);
  } else {
    const std::vector<Place> inner = elements(true);
    expect(Sign::kCloseSet);
    found = tree_.add(Kind::kSet, inner);
  }
  bars_ = bars;
  return found;
}

// |x| and rounded values; |A| is a determinant.
Place Parser::between(Kind kind, Sign close) {
  ++at_;
  const int bars = std::exchange(bars_, close == Sign::kBar ? 1 : 0);
  const Place inner = sum();
  bars_ = bars;
  expect(close);
  return tree_.kind(inner) == Kind::kMatrix ? determinant(tree_, inner) : tree_.add(kind, inner);
}

Place Parser::root() {
  const bool whole_number = here().detail == 1;
  expect(Sign::kRoot);
  Place index = kNone;
  if (take(Sign::kOpenSquare)) {
    index = sum();
    expect(Sign::kCloseSquare);
  }
  const Place radicand = argument(whole_number);
  return index == kNone ? tree_.add(Kind::kRoot, radicand) : tree_.add(Kind::kRoot, radicand, index);
}

}  // namespace math_answers
