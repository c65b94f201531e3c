#include <core/text/byte_alphabet.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace drift {
namespace {

bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

// Every code point of the alphabet is below 0x200: one or two bytes of UTF-8.
std::string encode_code_point(int code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0 | (code_point >> 6)), static_cast<char>(0x80 | (code_point & 0x3F))};
}

// Printable bytes stand for themselves, the others take the code points from 256 on, in order.
std::array<std::string, 256> make_alphabet() {
  std::array<std::string, 256> characters;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    characters[static_cast<std::size_t>(byte)] = encode_code_point(is_printable(byte) ? byte : next++);
  }
  return characters;
}

const std::array<std::string, 256>& alphabet() {
  static const std::array<std::string, 256> characters = make_alphabet();
  return characters;
}

const std::unordered_map<std::string_view, char>& inverse_alphabet() {
  static const std::unordered_map<std::string_view, char> bytes = [] {
    std::unordered_map<std::string_view, char> inverse;
    for (std::size_t byte = 0; byte < 256; ++byte) inverse.emplace(alphabet()[byte], static_cast<char>(byte));
    return inverse;
  }();
  return bytes;
}

struct Utf8Prefix {
  std::size_t length = 0;  // bytes read
  bool complete = false;   // they are one well-formed character; else the maximal part that could begin one, at least 1
};

// Table 3-7 of the Unicode standard, "Well-formed UTF-8 byte sequences". `bytes` is not empty.
Utf8Prefix read_character(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, true};
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
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned char low = i == 1 ? second_low : 0x80;
    const unsigned char high = i == 1 ? second_high : 0xBF;
    if (i >= bytes.size() || byte(i) < low || byte(i) > high) return {i, false};
  }
  return {length, true};
}

}  // namespace

std::string byte_character(unsigned char byte) { return alphabet()[byte]; }

std::optional<std::string> bytes_of_piece(std::string_view piece) {
  std::string bytes;
  while (!piece.empty()) {
    const Utf8Prefix character = read_character(piece);
    const auto found = inverse_alphabet().find(piece.substr(0, character.length));
    if (found == inverse_alphabet().end()) return std::nullopt;
    bytes += found->second;
    piece.remove_prefix(character.length);
  }
  return bytes;
}

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Utf8Prefix character = read_character(bytes);
    text += character.complete ? bytes.substr(0, character.length) : std::string_view("\xEF\xBF\xBD");
    bytes.remove_prefix(character.length);
  }
  return text;
}

std::size_t utf8_character_length(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const Utf8Prefix character = read_character(bytes);
  return character.complete ? character.length : 0;
}

}  // namespace drift
