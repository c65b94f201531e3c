#include "rldf_release.h"

#include <boost/algorithm/string/case_conv.hpp>
#include <unicode/uchar.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <locale>

namespace math_answers {
namespace {

constexpr std::string_view kWhiteSpace = " \t\n\r\v\f";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// White space by category or by direction, as the Unicode database of Python has it.
bool is_space(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  const UCharDirection direction = u_charDirection(code);
  return u_charType(code) == U_SPACE_SEPARATOR || direction == U_WHITE_SPACE_NEUTRAL ||
         direction == U_BLOCK_SEPARATOR || direction == U_SEGMENT_SEPARATOR;
}

/// ASCII in place of the digits and the white space of any script, `?` for the rest.
std::string to_ascii(std::u32string_view text) {
  std::string ascii;
  for (const char32_t c : text) {
    const int digit = u_charDigitValue(static_cast<UChar32>(c));
    if (c < 0x80) {
      ascii += static_cast<char>(c);
    } else if (digit >= 0) {
      ascii += static_cast<char>('0' + digit);
    } else {
      ascii += is_space(c) ? ' ' : '?';
    }
  }
  return ascii;
}

/// Without its underscores; nothing if one does not stand between two digits.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return plain;
}

/// Whether a well-formed decimal number that no double can hold is too large rather than too small: by the power of ten
/// of its first digit that is not zero.
bool is_too_large(std::string_view number) {
  const std::size_t letter = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, letter);
  const auto point = static_cast<long>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first = static_cast<long>(mantissa.find_first_of("123456789"));
  std::string_view exponent = number.substr(std::min(letter + 1, number.size()));
  const bool negative = exponent.starts_with('-');
  if (exponent.starts_with('+') || negative) exponent.remove_prefix(1);
  long power = 0;
  for (const char digit : exponent) power = std::min(power * 10 + (digit - '0'), 1L << 40);
  return (negative ? -power : power) + point - first > 0;
}

}  // namespace

bool python_is_digit(std::u32string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char32_t c) {
    const int type = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE);
    return type == U_NT_DECIMAL || type == U_NT_DIGIT;
  });
}

std::optional<double> python_float(std::u32string_view text) {
  std::string ascii = to_ascii(text);
  ascii.erase(ascii.find_last_not_of(kWhiteSpace) + 1);
  ascii.erase(0, ascii.find_first_not_of(kWhiteSpace));
  const auto plain = without_underscores(ascii);
  if (!plain) return std::nullopt;
  std::string_view number = *plain;
  const bool negative = number.starts_with('-');
  if (number.starts_with('+') || negative) number.remove_prefix(1);
  const double sign = negative ? -1 : 1;
  const std::string word = boost::algorithm::to_lower_copy(std::string(number.substr(0, 9)), std::locale::classic());
  if (number.size() == word.size()) {
    if (word == "inf" || word == "infinity") return sign * std::numeric_limits<double>::infinity();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  if (number.empty() || !(is_digit(number.front()) || number.front() == '.')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc::invalid_argument || end != number.data() + number.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    value = is_too_large(number) ? std::numeric_limits<double>::infinity() : 0;
  }
  return sign * value;
}

}  // namespace math_answers
