#pragma once

#include "token.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace math_answers {

/// The word at the start of `words`, which loses it; empty at the end.
inline std::string_view take_word(std::string_view& words) {
  words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(word.size());
  return word;
}

/// `text` in lower case; empty if it is longer than any word here.
class Folded {
 public:
  explicit Folded(std::string_view text) {
    if (text.size() > folded_.size()) return;
    std::ranges::transform(text, folded_.begin(), to_lower);
    size_ = text.size();
  }
  std::string_view view() const { return {folded_.data(), size_}; }

 private:
  std::array<char, 16> folded_;
  std::size_t size_ = 0;
};

}  // namespace math_answers
