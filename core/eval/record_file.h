#pragma once

#include <core/eval/response_record.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace drift {

/// The responses of one cell on disk, in the order of their numbers. They are appended batch by batch, and what a
/// batch wrote is safe on disk when append() returns: a process that dies loses no more than the batch at hand.
class RecordFile {
 public:
  /// Reads the existing records. An incomplete last line does not count, and the next append removes it.
  /// @throws Error naming file and line if another line is not a record.
  explicit RecordFile(std::filesystem::path path);

  const std::vector<ResponseRecord>& records() const { return records_; }
  void append(const std::vector<ResponseRecord>& records);
  /// Put others in the place of all records; the file is the old one or the new one at every instant.
  void replace(std::vector<ResponseRecord> records);

 private:
  std::filesystem::path path_;
  std::vector<ResponseRecord> records_;
  std::int64_t whole_bytes_ = 0;  ///< of the lines that count
};

}  // namespace drift
