#include <core/io/atomic.h>
#include <core/io/file_error.h>
#include <core/io/run_folder.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <optional>
#include <system_error>

namespace drift {
namespace {

constexpr const char* kMetrics = "metrics.jsonl";

// Nothing if the line is not an object with an integer step.
std::optional<std::int64_t> step_of(std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto step = json.find("step");
  if (step == json.end() || !step->is_number_integer()) return std::nullopt;
  return step->get<std::int64_t>();
}

// 0, or the errno of what failed.
int append(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fdatasync(descriptor) == 0 ? 0 : errno;
}

}  // namespace

void RunFolder::append_line(std::string_view name, std::string_view line) const {
  assert(line.find('\n') == std::string_view::npos);
  const std::filesystem::path path = path_ / name;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_file_error("write", path, errno);
  struct stat before {};
  int error_number = 0;
  if (::fstat(descriptor, &before) != 0) {
    error_number = errno;
  } else {
    error_number = append(descriptor, std::string(line) + "\n");
    // A line that did not fit leaves no partial line.
    if (error_number != 0 && ::ftruncate(descriptor, before.st_size) != 0) error_number = errno;
  }
  ::close(descriptor);
  if (error_number != 0) throw_file_error("write", path, error_number);
}

void RunFolder::truncate_metrics(std::int64_t step) const {
  const std::filesystem::path path = path_ / kMetrics;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  const std::string text = read_whole_file(path);
  std::string kept;
  std::int64_t number = 0;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    ++number;
    end = text.find('\n', begin);
    if (end == std::string::npos) break;  // cut off
    const auto line = std::string_view(text).substr(begin, end - begin);
    const auto line_step = step_of(line);
    if (!line_step && end + 1 < text.size()) {
      throw Error(path.string() + ":" + std::to_string(number) + " is not an object with a `step`",
                  "remove that line, then resume");
    }
    if (line_step && *line_step <= step) kept.append(line).append("\n");
  }
  if (kept != text) write_file_atomically(path, kept);
}

}  // namespace drift
