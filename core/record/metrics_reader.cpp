#include <core/record/metrics_reader.h>

#include <core/io/atomic.h>

#include <drift/error.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace drift {
namespace {

/// Of a step that appears again, the later line counts.
void append_step(std::vector<StepRecord>& steps, StepRecord step) {
  while (!steps.empty() && steps.back().step >= step.step) steps.pop_back();
  steps.push_back(std::move(step));
}

std::optional<StepRecord> step_in(std::string_view line) {
  try {
    return parse_step(line);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What a file holds from a byte on; nothing if it is shorter or cannot be read now.
std::optional<std::string> bytes_from(std::ifstream& file, std::uint64_t begin) {
  file.clear();
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (!file || size < static_cast<std::streamoff>(begin)) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(size) - begin, '\0');
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

}  // namespace

std::vector<StepRecord> read_metrics(const std::filesystem::path& path) {
  std::vector<StepRecord> steps;
  if (!std::filesystem::exists(path)) return steps;
  const std::string content = read_whole_file(path);
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < content.size();) {
    ++line_number;
    const std::size_t end = content.find('\n', begin);
    if (end == std::string::npos) break;  // cut off
    const std::string_view line(content.data() + begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    try {
      append_step(steps, parse_step(line));
    } catch (const Error& error) {
      throw Error(path.string() + ":" + std::to_string(line_number) + ": " + error.what(),
                  "the other lines are intact; remove this one to continue without it");
    }
  }
  return steps;
}

bool MetricsTail::begin_again(std::vector<StepRecord>& steps) {
  const bool had = !steps.empty() || unreadable_ > 0;
  steps.clear();
  read_ = 0;
  last_line_.clear();
  unreadable_ = 0;
  return had;
}

bool MetricsTail::look(std::vector<StepRecord>& steps) {
  // Opened anew each time: NFS then asks the server what the file is now.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path_, ignored)) return begin_again(steps);
  std::ifstream file(path_, std::ios::binary);
  if (!file) return begin_again(steps);
  bool changed = false;
  auto bytes = bytes_from(file, read_ - last_line_.size());
  if (!bytes || !bytes->starts_with(last_line_)) {
    changed = begin_again(steps);
    bytes = bytes_from(file, 0);
    if (!bytes) return changed;
  }
  for (std::size_t begin = last_line_.size();;) {
    const std::size_t end = bytes->find('\n', begin);
    if (end == std::string::npos) break;
    const auto line = std::string_view(*bytes).substr(begin, end - begin);
    auto step = step_in(line);
    if (!step && end + 1 == bytes->size()) break;  // NFS shows zeros where bytes are on their way
    if (step) {
      append_step(steps, std::move(*step));
      changed = true;
    } else if (!line.empty()) {
      ++unreadable_;
    }
    last_line_ = bytes->substr(begin, end + 1 - begin);
    begin = end + 1;
    read_ += last_line_.size();
  }
  return changed;
}

}  // namespace drift
