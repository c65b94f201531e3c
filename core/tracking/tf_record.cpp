#include <core/tracking/tf_record.h>

#include <core/tracking/crc32.h>
#include <core/tracking/message.h>

#include <cstddef>
#include <cstdint>

namespace drift {
namespace {

constexpr std::size_t kLength = 8, kChecksum = 4;

/// Checksums of what is mostly checksums would be weak: TFRecord rotates them and adds a constant.
std::uint32_t masked_checksum(std::string_view bytes) {
  const std::uint32_t crc = crc32(CrcPolynomial::kCastagnoli, bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

}  // namespace

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
