#pragma once

#include <core/text/tokenizer_file.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace drift {

/// Finds added tokens in a text: leftmost first, of several that begin there the longest.
class AddedTokens {
 public:
  /// @param tokens  whose texts are searched for
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Part {
    std::string_view text;
    std::int32_t id = -1;  ///< of the added token that this part is; -1: text that holds none
  };

  /// Cuts `text` (valid UTF-8); parts of text are not empty. A token with lstrip or rstrip takes the white space at its
  /// side, one with single_word counts only if no word character is next to it.
  /// @param with_special  whether special tokens count as well
  void split(std::string_view text, bool with_special, std::vector<Part>& parts) const;

 private:
  const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;        // sorted by text
  std::array<std::size_t, 257> first_{};  // by first byte: where its tokens begin in tokens_
};

}  // namespace drift
