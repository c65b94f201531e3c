#pragma once

// Reading what a run writes for TensorBoard, without its package.

#include "tests/support/support.h"

#include <core/record/event_record.h>

#include <cstring>
#include <initializer_list>

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
  for (const std::string_view record : read_tf_records(file)) {
    records.emplace_back(record);
    end += kRecordHead + record.size() + kRecordTail;
  }
  EXPECT_EQ(end, file.size()) << "a record is damaged or was cut off";
  return records;
}

/// A field of a protocol buffer.
struct Field {
  std::int64_t integer = 0;
  std::string text = {};  ///< the bytes of a text, a message or a real number

  double real(std::size_t place = 0) const {
    double value = 0;
    EXPECT_LE((place + 1) * sizeof value, text.size());
    std::memcpy(&value, text.data() + place * sizeof value, sizeof value);
    return value;
  }
};

/// The first field with this number in the first message with the number before it, and so on. Empty if there is none.
inline Field find_field(std::string message, std::initializer_list<int> path) {
  Field field{0, std::move(message)};
  for (const int wanted : path) {
    const std::string whole = std::exchange(field.text, "");
    std::size_t at = 0;
    const auto varint = [&] {
      std::uint64_t value = 0;
      for (int shift = 0; at < whole.size(); shift += 7) {
        const auto byte = static_cast<unsigned char>(whole[at++]);
        value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
        if (byte < 0x80) break;
      }
      return value;
    };
    while (at < whole.size()) {
      const std::uint64_t key = varint(), type = key & 7;
      Field found;
      if (type == 0) {
        found.integer = static_cast<std::int64_t>(varint());
      } else {
        const std::uint64_t size = type == 1 ? 8 : type == 5 ? 4 : varint();
        found.text = whole.substr(at, size);
        at += size;
      }
      if (static_cast<int>(key >> 3) != wanted) continue;
      field = found;
      break;
    }
  }
  return field;
}

}  // namespace drift::test
