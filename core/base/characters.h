#pragma once

#include <unicode/utf8.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace drift {

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
