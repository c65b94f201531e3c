#include "readers.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace dataset {
namespace {

std::optional<std::string> read_text(const std::string& path, Problems& problems) {
  std::error_code ignored;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    problems.other("cannot read " + path + ": " + std::strerror(file ? EISDIR : errno));
    return std::nullopt;
  }
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) {
    problems.other("cannot read " + path);
    return std::nullopt;
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // some editors' mark of UTF-8
  return text;
}

}  // namespace

void read_records(const std::string& path, Problems& problems, const UseRecord& use) {
  const std::filesystem::path as_path(path);
  const std::string file = as_path.filename().string(), ending = as_path.extension().string();
  if (ending == ".json") {
    if (const auto text = read_text(path, problems)) read_json_array(*text, file, problems, use);
  } else if (ending == ".jsonl") {
    if (const auto text = read_text(path, problems)) read_json_lines(*text, file, problems, use);
  } else if (ending == ".parquet") {
#ifdef DRIFT_WITH_PARQUET
    read_parquet(path, file, problems, use);
#else
    problems.other(path +
                   ": this Drift was built without Parquet (run scripts/setup, which fetches Arrow, then build again)");
#endif
  } else {
    problems.other(path + ": the name must end in .json, .jsonl or .parquet");
  }
}

}  // namespace dataset
