#include "text.h"

#include <unicode/utf8.h>

#include <algorithm>

namespace drift::dataset {
namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string first_words(std::string_view text) {
  constexpr std::int64_t most = 60;
  std::string line;
  std::int64_t characters = 0;
  for (const char c : trimmed(text)) {
    if (!U8_IS_TRAIL(c) && ++characters > most) return line + " …";
    line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return line;
}

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !U8_IS_TRAIL(c); });
}

std::string_view after_last(std::string_view text, std::string_view marker) {
  const std::size_t found = text.rfind(marker);
  return found == std::string_view::npos ? std::string_view() : trimmed(text.substr(found + marker.size()));
}

std::string_view signature(std::string_view program) {
  for (std::size_t begin = 0; begin < program.size();) {
    const std::size_t end = std::min(program.find('\n', begin), program.size());
    if (program.substr(begin, 4) == "def ") return program.substr(0, end);
    begin = end + 1;
  }
  return {};
}

}  // namespace drift::dataset
