#include "plain_number.h"

#include "ascii.h"

namespace math_reward {
namespace {

constexpr std::size_t kMostDigits = 18;

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::optional<PlainNumber> read() {
    skip_spaces();
    PlainNumber number;
    const bool negative = take("-");
    if (!(take("\\frac{") || take("\\dfrac{") || take("\\tfrac{") ? fraction(number) : decimal(number)))
      return std::nullopt;
    skip_spaces();
    if (!rest_.empty()) return std::nullopt;
    if (negative) number.numerator = -number.numerator;
    return number;
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  bool take(std::string_view sign) {
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(sign.size());
    return true;
  }

  // Append digits to `value`; false if there are none, or too many altogether.
  bool digits(std::int64_t& value) {
    std::size_t count = 0;
    for (; count < rest_.size() && is_digit(rest_[count]); ++count) {
      if (++digits_ > kMostDigits) return false;
      value = 10 * value + (rest_[count] - '0');
    }
    rest_.remove_prefix(count);
    return count > 0;
  }

  bool fraction(PlainNumber& number) {
    const bool negative = take("-");
    if (!digits(number.numerator) || !take("}{")) return false;
    digits_ = 0;
    number.denominator = 0;
    if (negative) number.numerator = -number.numerator;
    return digits(number.denominator) && take("}") && number.denominator != 0;
  }

  bool decimal(PlainNumber& number) {
    if (!digits(number.numerator)) return false;
    if (!take(".")) return true;
    number.decimal = true;
    const std::size_t whole = digits_;
    if (!digits(number.numerator)) return false;
    for (std::size_t i = whole; i < digits_; ++i) number.denominator *= 10;
    return true;
  }

  std::string_view rest_;
  std::size_t digits_ = 0;
};

}  // namespace

std::optional<PlainNumber> plain_number(std::string_view text) { return Reader(text).read(); }

bool operator==(const PlainNumber& a, const PlainNumber& b) {
  __extension__ using Wide = __int128;
  return static_cast<Wide>(a.numerator) * b.denominator == static_cast<Wide>(b.numerator) * a.denominator;
}

}  // namespace math_reward
