#pragma once

#include <array>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <string_view>

#include "answer_limits.h"
#include "token.h"

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

 private:
  friend class Lexer;
  List list_;
  std::array<char, 4 * kLongestAnswer> digits_;
  std::size_t digits_used_ = 0;
};

}  // namespace math_answers
