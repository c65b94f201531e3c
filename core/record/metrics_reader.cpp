#include <core/record/metrics_reader.h>

#include <core/io/atomic.h>
#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <limits>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUnknownValue = std::numeric_limits<double>::quiet_NaN();

double number_or_unknown(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? kUnknownValue : found->get<double>();
}

void read_seconds(const Json& seconds, StepMetrics& step) {
  if (seconds.is_number()) {
    step.seconds = seconds.get<double>();
  } else if (!seconds.is_null()) {
    step.seconds = number_or_unknown(seconds, "total");
    for (const auto& [name, value] : seconds.items()) {
      if (name != "total") step.phases.push_back({name, value.is_null() ? kUnknownValue : value.get<double>()});
    }
  }
}

StepMetrics parse_line(std::string_view line) {
  const Json object = Json::parse(line);
  StepMetrics step;
  step.step = object.at("step").get<std::int64_t>();
  step.seconds = kUnknownValue;
  for (const auto& [name, value] : object.items()) {
    if (value.is_number()) step.values[name] = value.get<double>();
  }
  step.values.erase("seconds");
  step.skipped = object.value("skipped", false);
  if (const auto seconds = object.find("seconds"); seconds != object.end()) read_seconds(*seconds, step);
  if (const auto held_out = object.find("held_out"); held_out != object.end() && !held_out->is_null()) {
    step.held_out = HeldOut{held_out->at("accuracy").get<double>(), number_or_unknown(*held_out, "standard_error"),
                            held_out->value("items", std::int64_t{0})};
  }
  return step;
}

}  // namespace

double StepMetrics::value(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? kUnknownValue : found->second;
}

std::vector<StepMetrics> read_metrics(const std::filesystem::path& path) {
  std::vector<StepMetrics> steps;
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
      StepMetrics step = parse_line(line);
      while (!steps.empty() && steps.back().step >= step.step) steps.pop_back();
      steps.push_back(std::move(step));
    } catch (const nlohmann::json::exception& error) {
      throw Error(path.string() + ":" + std::to_string(line_number) + ": not the metrics of a step: " + error.what(),
                  "the other lines are whole; remove this one to go on without it");
    }
  }
  return steps;
}

}  // namespace drift
