#include "tests/support/tracking.h"

#include "tests/support/support.h"

#include <core/tracking/crc32.h>
#include <core/tracking/message.h>
#include <core/tracking/record_log.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace drift::test {
namespace {

namespace fs = std::filesystem;

constexpr int kHistory = 2;

std::uint32_t masked(std::string_view bytes) {
  const std::uint32_t crc = crc32(CrcPolynomial::kCastagnoli, bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

}  // namespace

std::vector<fs::path> files_under(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> tf_records(const std::string& file) {
  std::vector<std::string> records;
  for (std::string_view rest = file; !rest.empty();) {
    const auto length = rest.size() < 16 ? rest.size() : read_little_endian(rest, 8);
    if (length > rest.size() - std::min<std::size_t>(16, rest.size())) {
      ADD_FAILURE() << "a record was cut off";
      break;
    }
    const auto content = rest.substr(12, length);
    EXPECT_EQ(read_little_endian(rest.substr(8), 4), masked(rest.substr(0, 8)));
    EXPECT_EQ(read_little_endian(rest.substr(12 + length), 4), masked(content));
    records.emplace_back(content);
    rest.remove_prefix(16 + length);
  }
  return records;
}

fs::path offline_log(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::path& file : files_under(folder)) {
    if (file.extension() == ".wandb") found.push_back(file);
  }
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? fs::path() : found.front();
}

std::vector<std::string> logged_records(const fs::path& log) {
  const std::string file = read_file(log);
  std::vector<std::string> records;
  std::size_t end = 0;
  for (const LoggedRecord& record : read_record_log(file)) {
    records.push_back(record.bytes);
    end = record.end;
  }
  EXPECT_EQ(end, file.size()) << "of the log is whole";
  return records;
}

int record_type(const std::string& record) {
  for (const int type : {2, 3, 5, 6, 17, 18, 21, 26}) {
    if (find_field(record, {type})) return type;
  }
  return 0;
}

std::vector<nlohmann::json> history_of(const fs::path& log) {
  std::vector<nlohmann::json> rows;
  for (const std::string& record : logged_records(log)) {
    const auto history = find_field(record, {kHistory});
    if (!history) continue;
    nlohmann::json row;
    for_each_field(history->text, [&](int number, const MessageField& item) {
      if (number == 1)
        row[std::string(find_field(item.text, {2})->text)] = nlohmann::json::parse(find_field(item.text, {16})->text);
    });
    rows.push_back(row);
  }
  return rows;
}

}  // namespace drift::test
