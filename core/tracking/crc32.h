#pragma once

#include <cstdint>
#include <string_view>

namespace drift {

/// The polynomials of the file formats here, lowest bit first.
enum class CrcPolynomial : std::uint32_t {
  kIeee = 0xEDB88320,        ///< as in zip files: records of Weights & Biases
  kCastagnoli = 0x82F63B78,  ///< CRC32C: records of TensorBoard
};

/// @param before  of the bytes in front of these
std::uint32_t crc32(CrcPolynomial polynomial, std::string_view bytes, std::uint32_t before = 0);

}  // namespace drift
