#pragma once

#include <unicode/utf8.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace drift {

/// Whether a character does something else to a terminal than being shown: control characters, also those from U+0080
/// on; marks of direction; separators of lines and paragraphs.
inline bool acts_on_terminals(std::int32_t c) {
  return (c >= 0 && c < 0x20) || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/// Calls use(code point, its bytes) for each character of a text in UTF-8. The code point of bytes that are none is
/// negative.
template <class Use>
void for_each_character(std::string_view text, const Use& use) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    std::int32_t c = 0;
    U8_NEXT(text.data(), at, text.size(), c);
    use(c, text.substr(begin, at - begin));
  }
}

}  // namespace drift
