#include <core/report/html.h>

#include <core/base/characters.h>

#include <algorithm>
#include <cstdint>

namespace drift {
namespace {

bool is_forbidden(std::int32_t c) { return c < 0 || c == 0x7F || (c < 0x20 && c != '\n' && c != '\t'); }

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::int32_t c, std::string_view character) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += is_forbidden(c) ? std::string_view("\uFFFD") : character;
    }
  });
  return out;
}

std::string spoken_name(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace drift
