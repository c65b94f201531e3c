#include <core/record/tf_record.h>

#include <core/record/message.h>

#include <array>

namespace drift {
namespace {

constexpr std::size_t kLength = 8, kChecksum = 4;

using CrcTable = std::array<std::uint32_t, 256>;

/// What each byte does to the remainder.
constexpr CrcTable crc_table() {
  constexpr std::uint32_t kCastagnoli = 0x82F63B78;  // lowest bit first
  CrcTable table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; ++bit) table[byte] = (table[byte] >> 1) ^ (table[byte] & 1 ? kCastagnoli : 0);
  }
  return table;
}

constexpr CrcTable kTable = crc_table();

/// Checksums of what is mostly checksums would be weak: TFRecord rotates them and adds a constant.
std::uint32_t masked_checksum(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t remainder = ~std::uint32_t{0};
  for (const char byte : bytes)
    remainder = (remainder >> 8) ^ kTable[(remainder ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~remainder;
}

std::string tf_record(std::string_view content) {
  std::string record;
  append_little_endian(record, content.size(), kLength);
  append_little_endian(record, masked_checksum(record), kChecksum);
  record += content;
  append_little_endian(record, masked_checksum(content), kChecksum);
  return record;
}

std::vector<LoggedRecord> read_tf_records(std::string_view file) {
  std::vector<LoggedRecord> records;
  for (std::size_t begin = 0; file.size() - begin >= kLength + 2 * kChecksum;) {
    const auto rest = file.substr(begin);
    const std::uint64_t length = read_little_endian(rest, kLength);
    if (length > rest.size() - kLength - 2 * kChecksum) break;
    const auto content = rest.substr(kLength + kChecksum, length);
    if (read_little_endian(rest.substr(kLength), kChecksum) != masked_checksum(rest.substr(0, kLength))) break;
    if (read_little_endian(rest.substr(kLength + kChecksum + length), kChecksum) != masked_checksum(content)) break;
    const std::size_t end = begin + kLength + length + 2 * kChecksum;
    records.push_back({begin, end, std::string(content)});
    begin = end;
  }
  return records;
}

}  // namespace drift
