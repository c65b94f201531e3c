#include <core/tracking/crc32.h>

#include <array>

namespace drift {
namespace {

using CrcTable = std::array<std::uint32_t, 256>;

/// What each byte does to the remainder.
constexpr CrcTable crc_table(CrcPolynomial polynomial) {
  CrcTable table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; ++bit)
      table[byte] = (table[byte] >> 1) ^ (table[byte] & 1 ? static_cast<std::uint32_t>(polynomial) : 0);
  }
  return table;
}

constexpr CrcTable kIeeeTable = crc_table(CrcPolynomial::kIeee);
constexpr CrcTable kCastagnoliTable = crc_table(CrcPolynomial::kCastagnoli);

}  // namespace

std::uint32_t crc32(CrcPolynomial polynomial, std::string_view bytes, std::uint32_t before) {
  const CrcTable& table = polynomial == CrcPolynomial::kIeee ? kIeeeTable : kCastagnoliTable;
  std::uint32_t remainder = ~before;
  for (const char byte : bytes)
    remainder = (remainder >> 8) ^ table[(remainder ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~remainder;
}

}  // namespace drift
