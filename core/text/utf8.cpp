#include <core/text/utf8.h>

#include <simdjson.h>
#include <unicode/utf8.h>

namespace drift {

bool is_valid_utf8(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

std::string valid_utf8(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return std::string(bytes);
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t begin = at;
    UChar32 code_point = 0;
    U8_NEXT(bytes.data(), at, bytes.size(), code_point);
    text += code_point >= 0 ? bytes.substr(begin, at - begin) : std::string_view("\uFFFD");
  }
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

}  // namespace drift
