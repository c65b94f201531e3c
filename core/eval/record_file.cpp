#include <core/eval/record_file.h>

#include <core/io/atomic.h>
#include <core/io/file_error.h>

#include <string>
#include <string_view>
#include <utility>

namespace drift {
namespace {

std::string lines_of(const std::vector<ResponseRecord>& records) {
  std::string text;
  for (const ResponseRecord& record : records) text += to_json_line(record) + "\n";
  return text;
}

}  // namespace

RecordFile::RecordFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code failed;
  if (!std::filesystem::exists(path_, failed)) return;
  const std::string content = read_whole_file(path_, std::size_t{1} << 36);
  const std::string_view text = content;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    const std::string where = path_.string() + ":" + std::to_string(records_.size() + 1);
    records_.push_back(parse_record(text.substr(begin, end - begin), where));
    whole_bytes_ = static_cast<std::int64_t>(end + 1);
  }
}

void RecordFile::append(const std::vector<ResponseRecord>& records) {
  const std::string text = lines_of(records);
  std::error_code missing, failed;
  const auto size = std::filesystem::file_size(path_, missing);
  if (!missing && size != static_cast<std::uintmax_t>(whole_bytes_))  // it ends with half a line
    std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(whole_bytes_), failed);
  if (failed) throw_file_error("write", path_, failed.value());
  append_to_file(path_, text);
  whole_bytes_ += static_cast<std::int64_t>(text.size());
  records_.insert(records_.end(), records.begin(), records.end());
}

void RecordFile::replace(std::vector<ResponseRecord> records) {
  const std::string text = lines_of(records);
  write_file_atomically(path_, text);
  whole_bytes_ = static_cast<std::int64_t>(text.size());
  records_ = std::move(records);
}

}  // namespace drift
