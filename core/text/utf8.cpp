#include <core/text/utf8.h>

#include <core/base/characters.h>

#include <simdjson.h>
#include <unicode/utf8.h>

namespace drift {

bool is_valid_utf8(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

std::string valid_utf8(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return std::string(bytes);
  std::string text;
  for_each_character(bytes, [&](std::int32_t code_point, std::string_view character) {
    text += code_point >= 0 ? character : std::string_view("\uFFFD");
  });
  return text;
}

std::size_t utf8_character_length(std::string_view bytes) {
  if (bytes.empty()) return 0;
  std::size_t length = 0;
  UChar32 code_point = 0;
  U8_NEXT(bytes.data(), length, bytes.size(), code_point);
  return code_point >= 0 ? length : 0;
}

std::size_t complete_utf8_length(std::string_view bytes) {
  std::size_t length = bytes.size();
  U8_TRUNCATE_IF_INCOMPLETE(bytes.data(), std::size_t{0}, length);
  return length;
}

char32_t code_point_of(std::string_view character) {
  UChar32 code_point = 0;
  U8_GET_UNSAFE(character.data(), 0, code_point);
  return static_cast<char32_t>(code_point);
}

std::size_t begin_of_character(std::string_view bytes, std::size_t offset) {
  const std::size_t limit = offset < 3 ? 0 : offset - 3;
  while (offset > limit && U8_IS_TRAIL(bytes[offset])) --offset;
  return offset;
}

std::size_t length_at_begin(std::string_view text, bool (*is_of_kind)(char32_t)) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_character_length(text.substr(at));
    if (length == 0 || !is_of_kind(code_point_of(text.substr(at)))) break;
    at += length;
  }
  return at;
}

std::size_t length_at_end(std::string_view text, bool (*is_of_kind)(char32_t)) {
  std::size_t kept = text.size();
  while (kept > 0) {
    const std::size_t begin = begin_of_character(text, kept - 1);
    const std::string_view last = text.substr(begin, kept - begin);
    if (utf8_character_length(last) != last.size() || !is_of_kind(code_point_of(last))) break;
    kept = begin;
  }
  return text.size() - kept;
}

}  // namespace drift
