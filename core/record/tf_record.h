#pragma once

// TFRecord, the frames of event files: length (8 bytes), its checksum (4), the contents, their checksum (4).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// CRC32C, of which TFRecord makes its checksums.
std::uint32_t crc32c(std::string_view bytes);

std::string tf_record(std::string_view content);

struct LoggedRecord {
  std::size_t begin = 0, end = 0;  ///< in the file
  std::string bytes;
};

/// The records in front of the first one that is damaged or was cut off.
std::vector<LoggedRecord> read_tf_records(std::string_view file);

}  // namespace drift
