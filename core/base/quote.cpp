#include <core/base/quote.h>

#include <unicode/utf8.h>

#include <array>
#include <cstddef>
#include <cstdio>

namespace drift {

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  std::size_t length = name.size();
  if (length > kLongest) {
    length = kLongest;
    U8_TRUNCATE_IF_INCOMPLETE(name.data(), std::size_t{0}, length);
  }
  std::string text = "`";
  for (const char c : name.substr(0, length)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned char>(c));
      text += code.data();
    } else {
      text += c;
    }
  }
  return text + (length < name.size() ? "…`" : "`");
}

}  // namespace drift
