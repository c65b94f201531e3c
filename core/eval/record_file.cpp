#include <core/eval/record_file.h>

#include <core/io/atomic.h>
#include <core/io/file_error.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

/// A file open for writing after its first `offset` bytes; anything after them is cut off.
class Appender {
 public:
  Appender(const std::filesystem::path& path, std::int64_t offset) : path_(path) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw_file_error("write", path, errno);
    if (::ftruncate(descriptor_, offset) == 0 && ::lseek(descriptor_, offset, SEEK_SET) >= 0) return;
    const int error_number = errno;
    ::close(descriptor_);
    throw_file_error("write", path, error_number);
  }
  ~Appender() { ::close(descriptor_); }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw_file_error("write", path_, errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fdatasync(descriptor_) != 0) throw_file_error("write", path_, errno);
  }

 private:
  const std::filesystem::path& path_;
  int descriptor_ = -1;
};

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
  Appender(path_, whole_bytes_).write(text);
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
