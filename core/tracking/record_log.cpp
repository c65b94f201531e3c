#include <core/tracking/record_log.h>

#include <core/tracking/crc32.h>
#include <core/tracking/message.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace drift {
namespace {

constexpr std::size_t kBlock = 32768;
constexpr std::size_t kPartHeader = 7;

enum Part { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

std::uint32_t part_checksum(char part, std::string_view bytes) {
  return crc32(CrcPolynomial::kIeee, bytes, crc32(CrcPolynomial::kIeee, {&part, 1}));
}

std::size_t left_in_block(std::size_t offset) { return kBlock - offset % kBlock; }

/// Zeros that end a block without room for a part's header.
std::size_t padding(std::size_t offset) { return left_in_block(offset) < kPartHeader ? left_in_block(offset) : 0; }

struct ReadPart {
  int part = 0;
  std::string_view bytes;
};

std::optional<ReadPart> read_part(std::string_view file, std::size_t offset) {
  if (offset + kPartHeader > file.size()) return std::nullopt;
  const auto header = file.substr(offset, kPartHeader);
  const auto length = static_cast<std::size_t>(read_little_endian(header.substr(4), 2));
  if (offset + kPartHeader + length > file.size()) return std::nullopt;
  const auto bytes = file.substr(offset + kPartHeader, length);
  if (read_little_endian(header, 4) != part_checksum(header[6], bytes)) return std::nullopt;
  return ReadPart{header[6], bytes};
}

}  // namespace

std::string record_log_header() {
  std::string header = ":W&B";
  append_little_endian(header, 0xBEE1, 2);
  append_little_endian(header, 0, 1);  // version
  return header;
}

std::string framed_record(std::string_view record, std::size_t offset) {
  std::string framed;
  bool begins = true, ends = false;
  while (!ends) {
    framed.append(padding(offset + framed.size()), '\0');
    const std::size_t room = left_in_block(offset + framed.size()) - kPartHeader;
    const auto bytes = record.substr(0, room);
    record.remove_prefix(bytes.size());
    ends = record.empty();
    const char part = begins ? (ends ? kFull : kFirst) : (ends ? kLast : kMiddle);
    append_little_endian(framed, part_checksum(part, bytes), 4);
    append_little_endian(framed, bytes.size(), 2);
    framed += part;
    framed += bytes;
    begins = false;
  }
  return framed;
}

std::vector<LoggedRecord> read_record_log(std::string_view file) {
  std::vector<LoggedRecord> records;
  if (!file.starts_with(record_log_header())) return records;
  LoggedRecord record;
  bool inside = false;
  for (std::size_t offset = record_log_header().size();;) {
    if (!inside) record = {offset, offset, {}};
    offset += padding(offset);
    const auto read = read_part(file, offset);
    if (!read || (read->part == kMiddle || read->part == kLast) != inside) return records;
    offset += kPartHeader + read->bytes.size();
    record.end = offset;
    record.bytes += read->bytes;
    inside = read->part == kFirst || read->part == kMiddle;
    if (!inside) records.push_back(record);
  }
}

}  // namespace drift
