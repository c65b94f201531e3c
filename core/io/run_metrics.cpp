#include <core/io/append.h>
#include <core/io/atomic.h>
#include <core/io/run_folder.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <cassert>
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

}  // namespace

void RunFolder::append_line(std::string_view name, std::string_view line) const {
  assert(line.find('\n') == std::string_view::npos);
  lock_.require_held();
  append_to_file(path_ / name, std::string(line) + "\n");
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
