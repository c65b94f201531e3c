#pragma once

// Reading what a run writes for TensorBoard, without its package.

#include "tests/support/support.h"

#include <core/record/tf_record.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace drift::test {

/// Sorted.
inline std::vector<std::filesystem::path> files_under(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The contents of TFRecords. A wrong length or checksum fails the test.
inline std::vector<std::string> tf_records(const std::string& file) {
  std::vector<std::string> records;
  std::size_t end = 0;
  for (const LoggedRecord& record : read_tf_records(file)) {
    records.push_back(record.bytes);
    end = record.end;
  }
  EXPECT_EQ(end, file.size()) << "a record is damaged or was cut off";
  return records;
}

}  // namespace drift::test
