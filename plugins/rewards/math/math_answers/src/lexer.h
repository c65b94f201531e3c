#pragma once

#include "answer_limits.h"
#include "token.h"

#include <boost/container/static_vector.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace math_answers {

/// The tokens of one answer, the last of them kEnd. Their texts lie in the answer, which must outlive them, or in the
/// digits that are kept here.
class Tokens {
 public:
  using List = boost::container::static_vector<Token, kMostTokens + 1>;

  Tokens() = default;
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  /// Replace the tokens by those of `text`. Texts of earlier tokens stay valid.
  /// @throws Unreadable: a sign or command without a meaning here, or beyond the limits
  void read(std::string_view text);

  List& list() { return list_; }
  const List& list() const { return list_; }
  const Token& operator[](std::size_t at) const { return list_[at]; }
  /// The name of the currency whose sign stands in the text: "dollar". Empty if none does.
  std::string_view currency() const { return currency_; }

 private:
  friend class Lexer;
  List list_;
  std::string_view currency_;
  std::array<char, 4 * kLongestAnswer> digits_;
  std::size_t digits_used_ = 0;
};

/// Reads the decimal number at `at` as people write it: 1,000  1{,}000  1,\!000  1\,000  1 000  .5  0.1\overline{6}
/// 1.5E-4. Groups count only if each has three digits and the first one to three; a plain comma within brackets
/// separates (unless zeros follow), as in (100,101). Writes the digits, at most one point, repeating digits in round
/// brackets, and an exponent after E to `out`; `at` moves behind the number.
/// @return how many signs were written
/// @throws Unreadable if there are more than `room`
std::size_t read_number(std::string_view text, std::size_t& at, bool in_brackets, char* out, std::size_t room);

}  // namespace math_answers
