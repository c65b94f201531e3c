#include <core/text/byte_alphabet.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace drift {
namespace {

constexpr std::size_t kCodePoints = 0x144;  // the alphabet's code points are below it: one or two bytes of UTF-8

bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

std::string encode_code_point(int code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0 | (code_point >> 6)), static_cast<char>(0x80 | (code_point & 0x3F))};
}

struct Alphabet {
  std::array<std::string, 256> characters;
  std::array<std::int16_t, kCodePoints> byte_of;  // by code point; -1: not in the alphabet
};

// Printable bytes represent themselves, the others take the code points from 256 on, in order.
Alphabet make_alphabet() {
  Alphabet alphabet;
  alphabet.byte_of.fill(-1);
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const int code_point = is_printable(byte) ? byte : next++;
    alphabet.characters[static_cast<std::size_t>(byte)] = encode_code_point(code_point);
    alphabet.byte_of[static_cast<std::size_t>(code_point)] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

const Alphabet& alphabet() {
  static const Alphabet all = make_alphabet();
  return all;
}

}  // namespace

const std::string& byte_character(unsigned char byte) { return alphabet().characters[byte]; }

std::optional<std::string> bytes_of_piece(std::string_view piece) {
  const auto& byte_of = alphabet().byte_of;
  std::string bytes;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    std::size_t code_point = static_cast<unsigned char>(piece[i]);
    if (code_point >= 0x80) {
      if (code_point < 0xC2 || code_point > 0xC5 || i + 1 == piece.size()) return std::nullopt;
      code_point = (code_point & 0x1F) << 6 | (static_cast<unsigned char>(piece[++i]) & 0x3F);
    }
    if (code_point >= kCodePoints || byte_of[code_point] < 0) return std::nullopt;
    bytes += static_cast<char>(byte_of[code_point]);
  }
  return bytes;
}

}  // namespace drift
