#include <core/text/byte_alphabet.h>

#include <unicode/utf8.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace drift {
namespace {

constexpr UChar32 kCodePoints = 0x144;  // the alphabet's lie below it

bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
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
    char character[U8_MAX_LENGTH];
    int length = 0;
    U8_APPEND_UNSAFE(character, length, code_point);
    alphabet.characters[static_cast<std::size_t>(byte)].assign(character, static_cast<std::size_t>(length));
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
  for (std::size_t i = 0; i < piece.size();) {
    UChar32 code_point = 0;
    U8_NEXT(piece.data(), i, piece.size(), code_point);
    if (code_point < 0 || code_point >= kCodePoints) return std::nullopt;
    const std::int16_t byte = byte_of[static_cast<std::size_t>(code_point)];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace drift
