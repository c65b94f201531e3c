#include "expression.h"

#include <math_answers.h>

#include <algorithm>
#include <utility>

namespace drift::countdown {
namespace {

// Signs that say nothing about the value.
constexpr std::string_view kSkipped[] = {" ",   "\t",  "\n",  "\r",  "~",   "\\left", "\\right", "\\,", "\\!",
                                         "\\;", "\\:", "\\(", "\\)", "\\[", "\\]",    "$",       "`",   "\""};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, Intermediates intermediates) : rest_(text), intermediates_(intermediates) {}

  Evaluation run() {
    found_.value = sum();
    if (take("=")) found_.claimed = number();
    const bool stops = take(".");
    skip();
    if (!rest_.empty()) refuse(RewardStatus::kParseError, "cannot read " + (stops ? "`.`" : next()));
    return std::move(found_);
  }

 private:
  [[noreturn]] static void refuse(RewardStatus status, std::string reason) { throw Refusal{status, std::move(reason)}; }

  // What comes next, for people; bytes that may not be UTF-8 are not repeated.
  std::string next() const {
    if (rest_.empty()) return "the end of the answer";
    const char c = rest_.front();
    return c > ' ' && c <= '~' ? std::string("`") + c + "`" : "a sign that is not part of arithmetic";
  }

  void skip() {
    const auto skips = [&](std::string_view sign) {
      const bool here = rest_.starts_with(sign);
      if (here) rest_.remove_prefix(sign.size());
      return here;
    };
    while (std::ranges::any_of(kSkipped, skips)) continue;
  }

  bool take(std::string_view sign) {
    skip();
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(sign.size());
    return true;
  }

  void expect(std::string_view sign) {
    if (!take(sign)) {
      refuse(RewardStatus::kParseError, "`" + std::string(sign) + "` expected where " + next() + " stands");
    }
  }

  // The sign of a sum or product that comes next, or 0.
  char take_sum_sign() { return take("+") ? '+' : take("-") ? '-' : '\0'; }
  char take_product_sign() {
    if (take("*") || take("\\times") || take("\\cdot") || take("\\ast")) return '*';
    return take("/") || take(":") || take("\\div") ? '/' : '\0';
  }

  Rational sum() {
    Rational left = product();
    while (const char sign = take_sum_sign()) {
      const Rational right = product();
      left = sign == '+' ? Rational(left + right) : Rational(left - right);
      check_step(left);
    }
    return left;
  }

  Rational product() {
    Rational left = factor();
    while (const char sign = take_product_sign()) {
      const Rational right = factor();
      left = sign == '*' ? Rational(left * right) : quotient(left, right);
      check_step(left);
    }
    return left;
  }

  Rational factor() {
    if (++depth_ > kDeepestNesting) {
      refuse(RewardStatus::kParseError, "nested more than " + std::to_string(kDeepestNesting) + " deep");
    }
    Rational value;
    if (take("(")) {
      value = sum();
      expect(")");
    } else if (take("[")) {
      value = sum();
      expect("]");
    } else if (take("{")) {
      value = sum();
      expect("}");
    } else if (take("\\frac") || take("\\dfrac") || take("\\tfrac")) {
      const Rational above = braced();
      value = quotient(above, braced());
      check_step(value);
    } else if (take("\\boxed") || take("\\fbox")) {
      value = braced();
    } else if (intermediates_ == Intermediates::kAny && take("-")) {
      value = -factor();
      check_step(value);
    } else {
      const std::int64_t written = number();
      found_.numbers.push_back(written);
      value = written;
    }
    --depth_;
    return value;
  }

  Rational braced() {
    expect("{");
    Rational value = sum();
    expect("}");
    return value;
  }

  std::int64_t number() {
    skip();
    std::size_t digits = 0;
    while (digits < rest_.size() && is_digit(rest_[digits])) ++digits;
    if (digits == 0) refuse(RewardStatus::kParseError, "a number expected where " + next() + " stands");
    if (digits > 1 && rest_.front() == '0') refuse(RewardStatus::kParseError, "a number begins with 0");
    std::int64_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      value = 10 * value + (rest_[i] - '0');
      if (value > kLargestNumber) {
        refuse(RewardStatus::kParseError, "a number is above " + std::to_string(kLargestNumber));
      }
    }
    rest_.remove_prefix(digits);
    return value;
  }

  static Rational quotient(const Rational& above, const Rational& below) {
    if (below == 0) refuse(RewardStatus::kWrong, "divides by zero");
    return above / below;
  }

  void check_step(const Rational& value) {
    if ((value > 0 && denominator(value) == 1) || !found_.odd_step.empty()) return;
    found_.odd_step = "a step gives " + value.str() + ", not a positive integer";
    if (intermediates_ == Intermediates::kPositiveInteger) refuse(RewardStatus::kWrong, found_.odd_step);
  }

  std::string_view rest_;
  Intermediates intermediates_;
  int depth_ = 0;
  Evaluation found_;
};

}  // namespace

Evaluation evaluate(std::string_view answer, Intermediates intermediates) {
  const std::string text = math_answers::in_ascii(answer);
  if (text.size() > kLongestExpression) {
    throw Refusal{RewardStatus::kParseError, "the answer has " + std::to_string(text.size()) + " bytes, more than " +
                                                 std::to_string(kLongestExpression)};
  }
  return Parser(text, intermediates).run();
}

}  // namespace drift::countdown
