#include <core/base/quote.h>

#include <core/base/characters.h>

#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

namespace drift {
namespace {

void append_code(std::string& text, const char* format, unsigned code) {
  std::array<char, 16> written{};
  std::snprintf(written.data(), written.size(), format, code);
  text += written.data();
}

/// @param kept  control characters that stay as they are
std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::int32_t c, std::string_view character) {
    if (c < 0) {  // no UTF-8: to some terminals the byte 9b is what begins a sequence
      for (const char byte : character) append_code(out, "\\x%02x", static_cast<unsigned char>(byte));
    } else if (acts_on_terminals(c) && kept.find(character) == kept.npos) {
      append_code(out, c < 0xa0 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(c));
    } else {
      out += character;
    }
  });
  return out;
}

}  // namespace

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  std::size_t length = name.size();
  if (length > kLongest) {
    length = kLongest;
    U8_TRUNCATE_IF_INCOMPLETE(name.data(), std::size_t{0}, length);
  }
  return "`" + escaped(name.substr(0, length), "") + (length < name.size() ? "…`" : "`");
}

std::string printable(std::string_view text) { return escaped(text, "\n\t"); }

std::string on_one_line(std::string_view text) {
  std::string line = printable(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

std::string without_long_lines(std::string_view text) {
  constexpr std::size_t kLongest = 4000;
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    std::size_t length = std::min(line.size(), kLongest);
    if (length < line.size()) U8_TRUNCATE_IF_INCOMPLETE(line.data(), std::size_t{0}, length);
    out += line.substr(0, length);
    if (length < line.size()) out += "…";
    if (end < text.size()) out += '\n';
    begin = end + 1;
  }
  return out;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace drift
