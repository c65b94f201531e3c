#pragma once

// What event files are made of: protocol buffers (https://protobuf.dev/programming-guides/encoding) in TFRecord's
// frames. LibTorch contains a version of libprotobuf, with which another one in this process would clash.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

// A field of a message, by its number. A message is its fields, one behind the other.
std::string integer_field(int field, std::int64_t value);
std::string real_field(int field, double value);
std::string single_field(int field, float value);
std::string reals_field(int field, const std::vector<double>& values);
/// @param value  or a message within
std::string text_field(int field, std::string_view value);

/// CRC32C, of which TFRecord makes its checksums.
std::uint32_t crc32c(std::string_view bytes);

/// Length (8 bytes), its checksum (4), the content, its checksum (4).
std::string tf_record(std::string_view content);
inline constexpr std::size_t kRecordHead = 12, kRecordTail = 4;

/// The contents of the records in front of the first one that is damaged or was cut off: parts of the file.
std::vector<std::string_view> read_tf_records(std::string_view file);

/// The step of an event that begins, as all writers have it, with its time and then its step; 0 where it has none.
/// -1 of the first event of a file, which says what kind of file it is.
std::int64_t step_of_event(std::string_view event);

}  // namespace drift
