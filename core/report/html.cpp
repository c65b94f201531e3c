#include <core/report/html.h>

#include <algorithm>

namespace drift {
namespace {

// Length of the UTF-8 sequence at the start of `text`, or 0 if it is not one.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  return std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length), continues) ? length : 0;
}

bool is_forbidden(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == 0x7F || (byte < 0x20 && c != '\n' && c != '\t');
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char c = text[0];
    if (length == 0 || is_forbidden(c)) {
      out += "\uFFFD";
    } else if (length > 1) {
      out += text.substr(0, length);
    } else {
      switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        default: out += c;
      }
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

std::string spoken_name(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace drift
