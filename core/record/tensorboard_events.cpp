#include <core/record/tensorboard_events.h>

#include <core/base/here_and_now.h>
#include <core/io/atomic.h>
#include <core/io/file_error.h>
#include <core/record/event_record.h>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <system_error>

namespace drift {
namespace {

namespace fs = std::filesystem;

// Numbers of fields, from tensorboard/compat/proto and tensorboard/plugins/hparams.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum ValueField { kTag = 1, kSimpleValue = 2, kHistogram = 5, kTensor = 8, kMetadata = 9 };
constexpr int kSessionStart = 1;
constexpr int kStrings = 7;      // DataType
constexpr int kClassTensor = 2;  // DataClass

constexpr std::string_view kFilePrefix = "events.out.tfevents.";
constexpr std::size_t kLargestFile = std::size_t{1} << 36;  // larger ones are none of a run

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    if (entry->path().filename().string().starts_with(kFilePrefix)) files.push_back(entry->path());
  }
  if (failed) throw_file_error("read", folder, failed.value());
  return files;
}

/// Later than those of all these files, whatever the clock says.
std::string next_event_file(const std::vector<fs::path>& files) {
  auto second = static_cast<std::int64_t>(seconds_since_1970());
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    std::int64_t other = 0;
    std::from_chars(name.data() + kFilePrefix.size(), name.data() + name.size(), other);
    second = std::max(second, other + 1);
  }
  return std::string(kFilePrefix) + std::to_string(second) + "." + host_name() + "." + std::to_string(::getpid());
}

/// Cut a file before its first event of a step that is done again, and before what was cut off.
void cut_events(const fs::path& file, std::int64_t first_step) {
  const std::string text = read_whole_file(file, kLargestFile);
  std::size_t kept = 0;
  for (const std::string_view event : read_tf_records(text)) {
    if (step_of_event(event) >= first_step) break;
    kept += kRecordHead + event.size() + kRecordTail;
  }
  if (kept == text.size()) return;
  std::error_code failed;
  fs::resize_file(file, kept, failed);
  if (failed) throw_file_error("write", file, failed.value());
}

/// A value of a summary.
std::string value(std::string_view tag, const std::string& content) {
  return text_field(1, text_field(kTag, tag) + content);
}

/// That of a plugin of TensorBoard.
std::string metadata(std::string_view plugin, const std::string& content = {}) {
  const std::string data = text_field(1, text_field(1, plugin) + text_field(2, content));
  return text_field(kMetadata, plugin == "text" ? data + integer_field(4, kClassTensor) : data);
}

/// Markdown in which nothing means anything: lines of code.
std::string as_code(std::string_view text) {
  std::string code = "    ";
  for (const char one : text) {
    code += one;
    if (one == '\n') code += "    ";
  }
  return code;
}

/// Texts in rows and columns; without columns a single text.
std::string text_value(std::string_view tag, const std::vector<std::string>& texts, std::size_t columns = 0) {
  std::string shape, strings;
  for (const std::size_t size : columns == 0 ? std::vector{texts.size()} : std::vector{texts.size() / columns, columns})
    shape += text_field(2, integer_field(1, static_cast<std::int64_t>(size)));
  for (const std::string& text : texts) strings += text_field(8, text);
  return value(tag,
               metadata("text") + text_field(kTensor, integer_field(1, kStrings) + text_field(2, shape) + strings));
}

std::string samples_value(std::string_view tag, const std::vector<SampleText>& samples) {
  if (samples.empty()) return {};
  std::vector<std::string> cells{"question", "response", "reward", "solved"};
  for (const SampleText& sample : samples)
    cells.insert(cells.end(), {as_code(sample.question), as_code(sample.response), nlohmann::json(sample.reward).dump(),
                               sample.solved ? "yes" : "no"});
  return text_value(tag, cells, 4);
}

/// A google.protobuf.Value.
std::string hyperparameter(const nlohmann::json& value) {
  if (value.is_boolean()) return integer_field(4, value.get<bool>() ? 1 : 0);
  if (value.is_number()) return real_field(2, value.get<double>());
  return text_field(3, value.is_string() ? value.get<std::string>() : value.dump());
}

/// For the table of hyperparameters of several runs.
std::string hyperparameters(const TrackedRun& run) {
  std::string session;
  for (const TrackedSetting& setting : run.settings)
    session += text_field(1, text_field(1, setting.section + "." + setting.name) +
                                 text_field(2, hyperparameter(nlohmann::json::parse(setting.json))));
  session += text_field(4, run.name) + real_field(5, seconds_since_1970());
  return value("_hparams_/session_start_info", metadata("hparams", integer_field(1, 0) + text_field(3, session)));
}

/// Every number of an object, those within named as "seconds/rollout".
std::string number_values(const nlohmann::json& object, const std::string& prefix = "") {
  std::string values;
  for (const auto& [name, one] : object.items()) {
    if (one.is_object()) values += number_values(one, prefix + name + "/");
    if (one.is_number()) values += value(prefix + name, single_field(kSimpleValue, one.get<float>()));
    if (one.is_boolean()) values += value(prefix + name, single_field(kSimpleValue, one.get<bool>() ? 1 : 0));
  }
  return values;
}

}  // namespace

TensorBoardEvents::TensorBoardEvents(const fs::path& folder, const TrackedRun& run) {
  create_folder(folder);
  const auto before = event_files(folder);
  for (const fs::path& file : before) cut_events(file, run.first_step);
  file_ = folder / next_event_file(before);
  append_to_file(file_,
                 tf_record(real_field(kWallTime, seconds_since_1970()) + text_field(kFileVersion, "brain.Event:2")));
  append(run.first_step, text_field(kSessionLog, integer_field(1, kSessionStart)));
  append(run.first_step, text_field(kSummary, text_value("configuration", {as_code(run.toml)}) + hyperparameters(run)));
}

void TensorBoardEvents::write(const StepRecord& step, const std::vector<SampleText>& held_out) const {
  auto numbers = nlohmann::json::parse(to_json_line(step));  // by their names in metrics.jsonl
  numbers.erase("step");
  std::string summary = number_values(numbers);
  for (const auto& [name, values] : step.distributions) {
    if (const std::string histogram = histogram_message(values); !histogram.empty())
      summary += value(name, text_field(kHistogram, histogram));
  }
  summary += samples_value("held_out_samples", held_out) + samples_value("samples", step.samples);
  append(step.step, text_field(kSummary, summary));
}

void TensorBoardEvents::append(std::int64_t step, const std::string& field) const {
  append_to_file(file_, tf_record(real_field(kWallTime, seconds_since_1970()) + integer_field(kStep, step) + field));
}

std::string histogram_message(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {};
  const auto [smallest, largest] = std::ranges::minmax(values);
  // Equal values have a bin around them.
  const double begin = smallest < largest ? smallest : smallest - 0.5;
  const double end = smallest < largest ? largest : largest + 0.5;
  const double width = (end - begin) / kHistogramBins;
  double sum = 0, sum_of_squares = 0;
  std::vector<double> upper_edges, counts(kHistogramBins);
  for (int edge = 1; edge < kHistogramBins; ++edge) upper_edges.push_back(begin + edge * width);
  upper_edges.push_back(end);
  for (const double value : values) {
    sum += value;
    sum_of_squares += value * value;
    const double bin = std::clamp(std::floor((value - begin) / width), 0.0, kHistogramBins - 1.0);
    ++counts[static_cast<std::size_t>(bin)];
  }
  return real_field(1, smallest) + real_field(2, largest) + real_field(3, static_cast<double>(values.size())) +
         real_field(4, sum) + real_field(5, sum_of_squares) + reals_field(6, upper_edges) + reals_field(7, counts);
}

}  // namespace drift
