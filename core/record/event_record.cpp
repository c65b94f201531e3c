#include <core/record/event_record.h>

#include <boost/crc.hpp>

#include <bit>

namespace drift {
namespace {

enum WireType { kVarint = 0, kEightBytes = 1, kLengthAndBytes = 2, kFourBytes = 5 };

constexpr std::size_t kLength = 8;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

constexpr std::uint64_t key(int field, WireType type) {
  return static_cast<std::uint64_t>(field) << 3 | static_cast<unsigned>(type);
}

/// The lowest `count` bytes of a number, lowest first.
std::string little_endian(std::uint64_t value, std::size_t count) {
  std::string bytes;
  for (std::size_t byte = 0; byte < count; ++byte) bytes += static_cast<char>(value >> (8 * byte) & 0xFF);
  return bytes;
}

/// Checksums of what is mostly checksums would be weak: TFRecord rotates them and adds a constant.
std::string masked_checksum(std::string_view bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xA282EAD8, 4);
}

}  // namespace

std::string integer_field(int field, std::int64_t value) {
  return varint(key(field, kVarint)) + varint(static_cast<std::uint64_t>(value));
}

std::string real_field(int field, double value) {
  return varint(key(field, kEightBytes)) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}

std::string single_field(int field, float value) {
  return varint(key(field, kFourBytes)) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
}

std::string reals_field(int field, const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) bytes += little_endian(std::bit_cast<std::uint64_t>(value), 8);
  return text_field(field, bytes);
}

std::string text_field(int field, std::string_view value) {
  return varint(key(field, kLengthAndBytes)) + varint(value.size()) + std::string(value);
}

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::string tf_record(std::string_view content) {
  const std::string length = little_endian(content.size(), kLength);
  return length + masked_checksum(length) + std::string(content) + masked_checksum(content);
}

std::vector<std::string_view> read_tf_records(std::string_view file) {
  std::vector<std::string_view> contents;
  while (file.size() >= kRecordHead + kRecordTail) {
    std::uint64_t length = 0;
    for (std::size_t byte = kLength; byte-- > 0;) length = length << 8 | static_cast<unsigned char>(file[byte]);
    if (length > file.size() - kRecordHead - kRecordTail) break;
    const std::string_view content = file.substr(kRecordHead, length);
    const std::size_t size = kRecordHead + length + kRecordTail;
    if (file.substr(0, size) != tf_record(content)) break;
    contents.push_back(content);
    file.remove_prefix(size);
  }
  return contents;
}

std::int64_t step_of_event(std::string_view event) {
  constexpr std::size_t kTime = 9;  // bytes of the field
  const auto byte = [&](std::size_t at) { return static_cast<std::uint64_t>(static_cast<unsigned char>(event[at])); };
  if (event.size() <= kTime) return 0;
  if (byte(kTime) == key(3, kLengthAndBytes)) return -1;
  if (byte(kTime) != key(2, kVarint)) return 0;
  std::uint64_t step = 0;
  int shift = 0;
  for (std::size_t at = kTime + 1; at < event.size() && shift < 64; ++at, shift += 7) {
    step |= (byte(at) & 0x7F) << shift;
    if (byte(at) < 0x80) break;
  }
  return static_cast<std::int64_t>(step);
}

}  // namespace drift
