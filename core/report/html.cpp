#include <core/report/html.h>

#include <unicode/utf8.h>

#include <algorithm>

namespace drift {
namespace {

bool is_forbidden(UChar32 c) { return c < 0 || c == 0x7F || (c < 0x20 && c != '\n' && c != '\t'); }

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    UChar32 c = 0;
    U8_NEXT(text.data(), at, text.size(), c);
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += is_forbidden(c) ? std::string_view("\uFFFD") : text.substr(begin, at - begin);
    }
  }
  return out;
}

std::string spoken_name(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace drift
