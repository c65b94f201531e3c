#include <core/text/utf8.h>

#include <simdjson.h>

namespace drift {

Utf8Prefix read_utf8(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, true, false};
  std::size_t length = 0;
  unsigned char second_low = 0x80;
  unsigned char second_high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) second_low = 0xA0;   // overlong
    if (first == 0xED) second_high = 0x9F;  // surrogates
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) second_low = 0x90;   // overlong
    if (first == 0xF4) second_high = 0x8F;  // above U+10FFFF
  } else {
    return {1, false, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= bytes.size()) return {i, false, true};
    const unsigned char low = i == 1 ? second_low : 0x80;
    const unsigned char high = i == 1 ? second_high : 0xBF;
    if (byte(i) < low || byte(i) > high) return {i, false, false};
  }
  return {length, true, false};
}

char32_t code_point_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  char32_t code_point = byte(0) & (0x7Fu >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) code_point = code_point << 6 | (byte(i) & 0x3F);
  return code_point;
}

bool is_valid_utf8(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

std::string valid_utf8(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    const Utf8Prefix character = read_utf8(bytes);
    text += character.complete ? bytes.substr(0, character.length) : std::string_view("\xEF\xBF\xBD");
    bytes.remove_prefix(character.length);
  }
  return text;
}

std::size_t utf8_character_length(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const Utf8Prefix character = read_utf8(bytes);
  return character.complete ? character.length : 0;
}

}  // namespace drift
