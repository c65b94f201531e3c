#include "parser.h"

#include <algorithm>

namespace math_answers {
namespace {

class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(depth) {
    if (++depth_ > kDeepestNesting) throw Unreadable{"nested too deep"};
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

bool is_mark(Kind kind) { return kind == Kind::kPercent || kind == Kind::kDegrees; }

}  // namespace

// What stands above \over or \choose, and what below, reaches to the ends of the group.
Place Parser::sum() {
  const Place above = terms();
  if (take(Sign::kOver)) return tree_.add(Kind::kQuotient, above, terms());
  return take(Sign::kChoose) ? binomial(above, terms()) : above;
}

Place Parser::terms() {
  Place left = sign() == Sign::kPlusMinus || sign() == Sign::kMinusPlus ? plus_minus(kNone) : product(false);
  for (;;) {
    switch (sign()) {
      case Sign::kPlus:
        ++at_;
        left = tree_.add(Kind::kSum, left, product(false));
        break;
      case Sign::kMinus: {
        ++at_;
        const Place right = product(false);
        const bool sets = tree_.kind(left) == Kind::kReals && tree_.kind(right) != Kind::kNumber;
        left = sets ? tree_.add(Kind::kDifference, left, right)
                    : tree_.add(Kind::kSum, left, tree_.add(Kind::kNegate, right));
        break;
      }
      case Sign::kPlusMinus:
      case Sign::kMinusPlus: left = plus_minus(left); break;
      default: return left;
    }
  }
}

Place Parser::plus_minus(Place left) {
  const bool opposite = sign() == Sign::kMinusPlus;
  ++at_;
  opposite_ = opposite_ || opposite;
  const auto detail = static_cast<std::uint8_t>(std::min(plus_minus_++, 100) * 2 + (opposite ? 1 : 0));
  const Place right = product(false);
  const Place both = left == kNone ? tree_.add(Kind::kPlusMinus, right) : tree_.add(Kind::kPlusMinus, left, right);
  tree_[both].detail = detail;
  return both;
}

bool Parser::starts_factor() const {
  // 5 5 is no product, nor is 4{10}, which is printed as 410.
  const bool braced = sign() == Sign::kOpenBrace && sign_at(at_ + 1) == Sign::kNumber;
  if ((braced || sign() == Sign::kNumber) && tokens_[at_ - 1].sign == Sign::kNumber) {
    throw Unreadable{"two numbers side by side"};
  }
  switch (sign()) {
    case Sign::kNumber:
    case Sign::kBar: return bars_ == 0;
    case Sign::kOpenRound: return sign_at(at_ + 1) != Sign::kModulo;
    case Sign::kLetter:
    case Sign::kSymbol:
    case Sign::kText:
    case Sign::kPi:
    case Sign::kInfinity:
    case Sign::kOpenSquare:
    case Sign::kOpenBrace:
    case Sign::kOpenBar:
    case Sign::kOpenFloor:
    case Sign::kOpenCeiling:
    case Sign::kFraction:
    case Sign::kBinomial:
    case Sign::kRoot:
    case Sign::kFunction:
    case Sign::kAccent:
    case Sign::kBegin: return true;
    default: return false;
  }
}

// `stop_at_function`: what a function written without brackets applies to ends where the next function begins.
Place Parser::product(bool stop_at_function) {
  Place left = factor();
  for (;;) {
    const Sign next = sign();
    if (next == Sign::kTimes || next == Sign::kSlash || next == Sign::kColon) {
      if (stop_at_function && sign_at(at_ + 1) == Sign::kFunction) return left;
      ++at_;
      const Place right = factor();
      left = next == Sign::kTimes ? tree_.add(Kind::kProduct, left, right) : fraction(left, right);
    } else if (!starts_factor() || (stop_at_function && next == Sign::kFunction)) {
      return left;
    } else {
      const bool in_brackets = next == Sign::kOpenRound;
      left = tree_.add(Kind::kProduct, left, factor());
      tree_[left].detail = in_brackets ? 1 : 0;
    }
  }
}

Place Parser::factor() {
  const Nesting nesting(depth_);
  if (take(Sign::kMinus)) return tree_.add(Kind::kNegate, factor());
  if (take(Sign::kPlus)) return factor();
  const std::size_t begin = at_;
  const bool whole = sign() == Sign::kNumber && all_digits(here().text);
  const Place value = power();
  return whole && at_ == begin + 1 ? mixed_number(value) : value;
}

// A percent or degree sign behind a fraction belongs to all of it: 1/2\% is one half of a percent. Not in 10\%/20\%.
Place Parser::fraction(Place above, Place below) {
  const Kind mark = tree_.kind(below);
  if (is_mark(mark) && tree_.kind(tree_.left(below)) == Kind::kNumber && !contains(tree_, above, mark)) {
    return tree_.add(mark, tree_.add(Kind::kQuotient, above, tree_.left(below)));
  }
  return tree_.add(Kind::kQuotient, above, below);
}

// 3\frac{1}{2} and 3 1/2 are sums; 3\frac{\pi}{2} is a product. A percent or degree sign behind belongs to the whole.
Place Parser::mixed_number(Place whole) {
  const bool slash = sign() == Sign::kNumber && all_digits(here().text) && sign_at(at_ + 1) == Sign::kSlash &&
                     sign_at(at_ + 2) == Sign::kNumber;
  if (sign() != Sign::kFraction && !slash) return whole;
  Place part = power();
  if (slash) {
    expect(Sign::kSlash);
    part = fraction(part, power());
  }
  const auto is_simple = [&](Place at) { return tree_.kind(at) == Kind::kNumber && all_digits(tree_[at].text); };
  const bool marked = is_mark(tree_.kind(part));
  const Place quotient = marked ? tree_.left(part) : part;
  if (tree_.kind(quotient) == Kind::kQuotient && is_simple(tree_.left(quotient)) && is_simple(tree_.right(quotient))) {
    const Place mixed = tree_.add(Kind::kSum, whole, quotient);
    return marked ? tree_.add(tree_.kind(part), mixed) : mixed;
  }
  if (slash) throw Unreadable{"two numbers side by side"};
  return tree_.add(Kind::kProduct, whole, part);
}

Place Parser::power() {
  Place base = postfix(atom());
  bool raised = false;
  while (take(Sign::kCaret)) {
    if (circle()) {
      base = tree_.add(Kind::kDegrees, base);
    } else if (raised) {
      throw Unreadable{"two exponents"};
    } else {
      base = tree_.add(Kind::kPower, base, exponent());
      raised = true;
    }
    base = postfix(base);
  }
  return base;
}

bool Parser::circle() {
  if (take(Sign::kCircle) || take(Sign::kDegrees)) return true;
  if (sign() != Sign::kOpenBrace || sign_at(at_ + 1) != Sign::kCircle || sign_at(at_ + 2) != Sign::kCloseBrace)
    return false;
  at_ += 3;
  return true;
}

Place Parser::postfix(Place base) {
  for (;;) {
    if (take(Sign::kFactorial)) {
      if (sign() == Sign::kFactorial) throw Unreadable{"a double factorial"};
      base = tree_.add(Kind::kFactorial, base);
    } else if (take(Sign::kPercent)) {
      base = tree_.add(Kind::kPercent, base);
    } else if (take(Sign::kDegrees) || take(Sign::kCircle)) {
      base = tree_.add(Kind::kDegrees, base);
    } else {
      return base;
    }
  }
}

Place Parser::exponent() {
  const Nesting nesting(depth_);
  if (take(Sign::kMinus)) return tree_.add(Kind::kNegate, exponent());
  if (take(Sign::kPlus)) return exponent();
  return argument(true);
}

// What is in the braces, or one token: of a number its first digit, unless the whole of it is meant.
Place Parser::argument(bool whole_number) {
  if (sign() != Sign::kNumber || whole_number) return atom();
  Token& token = tokens_[at_];
  const std::string_view digit = token.text.substr(0, 1);
  token.text.remove_prefix(1);
  token.spaced = false;
  if (digit == "." || token.text.find('E') != std::string_view::npos) throw Unreadable{"a number without braces"};
  if (token.text.empty()) ++at_;
  return tree_.add(Kind::kNumber, 0, digit);
}

}  // namespace math_answers
