#include "readers.h"

#include "json_value.h"
#include "text.h"

#include <drift/error.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace drift::dataset {
namespace {

std::optional<std::string> read_text(const std::string& path, Problems& problems) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    problems.other("cannot read " + path + ": " + std::strerror(errno));
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

std::optional<Json> parse_object(std::string_view text, const Place& place, Problems& problems) {
  try {
    Json fields = parse_value(text);
    if (fields.is_object()) return fields;
    problems.bad_record(place, "this is not a JSON object");
  } catch (const Error& error) {
    problems.bad_record(place, error.what());
  }
  return std::nullopt;
}

/// Goes from element to element of an array without parsing them: each is parsed by itself, so that a bad one does not
/// hide the others.
class ArraySplitter {
 public:
  explicit ArraySplitter(std::string_view text) : text_(text) {}

  bool begin() {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '[') return false;
    ++at_;
    skip_space();
    if (at_ < text_.size() && text_[at_] == ']') finish();
    return true;
  }

  /// Whether the closing bracket was passed, and whether nothing but white space follows it.
  bool closed() const { return closed_; }
  bool ends_clean() const { return closed_ && at_ == text_.size(); }
  bool exhausted() const { return closed_ || at_ >= text_.size(); }
  /// Line on which the next element begins.
  std::int64_t line() const { return line_; }

  /// The next element, up to the comma or bracket that ends it.
  std::string_view next() {
    const std::size_t begin = at_;
    int depth = 0;
    bool in_text = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (in_text) {
        if (c == '\\') ++at_;
        if (c == '"') in_text = false;
      } else if (c == '"') {
        in_text = true;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if ((c == ']' || c == '}') && depth > 0) {
        --depth;
      } else if ((c == ',' || c == ']') && depth == 0) {
        break;
      }
    }
    at_ = std::min(at_, text_.size());
    const std::string_view element = trimmed(text_.substr(begin, at_ - begin));
    if (at_ < text_.size() && text_[at_] == ']') {
      finish();
    } else {
      ++at_;
      skip_space();
    }
    return element;
  }

 private:
  void finish() {
    closed_ = true;
    ++at_;
    skip_space();
  }

  void skip_space() {
    for (; at_ < text_.size() && trimmed(text_.substr(at_, 1)).empty(); ++at_) line_ += text_[at_] == '\n';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  bool closed_ = false;
};

// What to do with a file of a format that is not read.
std::string other_format(const std::string& ending) {
  for (const char* packed : {".gz", ".bz2", ".xz", ".zst", ".zip"}) {
    if (ending == packed) return "compressed files are not read: unpack it first";
  }
  if (ending == ".csv") return "CSV is not read: docs/data.md has a command that makes JSON Lines of it";
  return "the name must end in .json, .jsonl or .parquet";
}

}  // namespace

void read_json_array(std::string_view text, const std::string& file, Problems& problems, const UseRecord& use) {
  ArraySplitter elements(text);
  if (!elements.begin()) {
    problems.other(file + ": not a JSON array of records (the name of a file with one object per line ends in .jsonl)");
    return;
  }
  Place place{file, 0, 0};
  while (!elements.exhausted()) {
    ++place.record;
    place.line = elements.line();
    const std::string_view element = elements.next();
    if (!elements.closed() && elements.exhausted()) {
      problems.other(place.text() + ": the file ends before the array is closed");
      return;
    }
    if (auto fields = parse_object(element, place, problems)) use({place, std::move(*fields)});
  }
  if (!elements.closed()) problems.other(file + ": the array is not closed");
  if (elements.closed() && !elements.ends_clean()) problems.other(file + ": something follows the end of the array");
}

void read_json_lines(std::string_view text, const std::string& file, Problems& problems, const UseRecord& use) {
  Place place{file, 0, 0};
  while (!text.empty()) {
    ++place.line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    ++place.record;
    if (auto fields = parse_object(line, place, problems)) use({place, std::move(*fields)});
  }
}

void read_records(const std::string& path, const Wanted& wanted, Problems& problems, const UseRecord& use) {
  const std::filesystem::path as_path(path);
  const std::string file = as_path.filename().string(), ending = as_path.extension().string();
  std::error_code failed;
  const auto status = std::filesystem::status(as_path, failed);
  if (status.type() == std::filesystem::file_type::not_found) return problems.missing_file(path);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    const bool folder = std::filesystem::is_directory(status);
    problems.other("cannot read " + path + ": " + (folder ? std::strerror(EISDIR) : "it is no regular file"));
    return;
  }
  if (ending == ".json") {
    if (const auto text = read_text(path, problems)) read_json_array(*text, file, problems, use);
  } else if (ending == ".jsonl") {
    if (const auto text = read_text(path, problems)) read_json_lines(*text, file, problems, use);
  } else if (ending == ".parquet") {
#ifdef DRIFT_WITH_PARQUET
    read_parquet(path, file, wanted, problems, use);
#else
    (void)wanted;
    problems.other(path +
                   ": this Drift was built without Parquet (run scripts/setup, which fetches Arrow, then build again)");
#endif
  } else {
    problems.other(path + ": " + other_format(ending));
  }
}

}  // namespace drift::dataset
