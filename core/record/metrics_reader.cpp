#include <core/record/metrics_reader.h>

#include <core/io/atomic.h>

#include <drift/error.h>

#include <string>
#include <string_view>

namespace drift {

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
      StepRecord step = parse_step(line);
      while (!steps.empty() && steps.back().step >= step.step) steps.pop_back();
      steps.push_back(std::move(step));
    } catch (const Error& error) {
      throw Error(path.string() + ":" + std::to_string(line_number) + ": " + error.what(),
                  "the other lines are intact; remove this one to continue without it");
    }
  }
  return steps;
}

}  // namespace drift
