#pragma once

#include <cstdint>

namespace drift {

/// Whether a character does something else to a terminal than being shown: control characters, also those from U+0080
/// on; marks of direction; separators of lines and paragraphs.
inline bool acts_on_terminals(std::int32_t c) {
  return (c >= 0 && c < 0x20) || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace drift
