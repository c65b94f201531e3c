#include <core/record/tensorboard_events.h>

#include <core/base/here_and_now.h>
#include <core/io/atomic.h>
#include <core/io/file_error.h>
#include <core/record/histogram.h>
#include <core/record/tf_record.h>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

namespace drift {
namespace {

namespace fs = std::filesystem;

// Numbers of fields, from tensorboard/compat/proto and tensorboard/plugins/hparams.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum SummaryField { kTag = 1, kSimpleValue = 2, kHistogram = 5, kTensor = 8, kMetadata = 9 };
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
  for (const LoggedRecord& event : read_tf_records(text)) {
    const auto step = find_field(event.bytes, {kStep});
    if (!find_field(event.bytes, {kFileVersion}) && (step ? step->integer : 0) >= first_step) break;
    kept = event.end;
  }
  if (kept == text.size()) return;
  std::error_code failed;
  fs::resize_file(file, kept, failed);
  if (failed) throw_file_error("write", file, failed.value());
}

Message metadata(std::string_view plugin, const Message& content = {}) {
  Message plugin_data;
  plugin_data.text(1, plugin).message(2, content);
  Message metadata;
  metadata.message(1, plugin_data);
  if (plugin == "text") metadata.integer(4, kClassTensor);
  return metadata;
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

/// A table of texts, or with one row of one column a single text.
Message text_value(std::string_view tag, const std::vector<std::vector<std::string>>& rows) {
  const bool single = rows.size() == 1 && rows.front().size() == 1;
  Message shape;
  for (const std::size_t size : single ? std::vector<std::size_t>{1} : std::vector{rows.size(), rows.front().size()})
    shape.message(2, Message().integer(1, static_cast<std::int64_t>(size)));
  Message tensor;
  tensor.integer(1, kStrings).message(2, shape);
  for (const auto& row : rows) {
    for (const std::string& text : row) tensor.text(8, text);
  }
  return Message().text(kTag, tag).message(kMetadata, metadata("text")).message(kTensor, tensor);
}

Message samples_value(const std::string& tag, const std::vector<SampleText>& samples) {
  std::vector<std::vector<std::string>> rows{{"question", "response", "reward", "solved"}};
  for (const SampleText& sample : samples)
    rows.push_back({as_code(sample.question), as_code(sample.response), nlohmann::json(sample.reward).dump(),
                    sample.solved ? "yes" : "no"});
  return text_value(tag, rows);
}

Message histogram_value(const std::string& tag, const Histogram& histogram) {
  Message content;
  content.real(1, histogram.smallest).real(2, histogram.largest).real(3, histogram.count).real(4, histogram.sum);
  content.real(5, histogram.sum_of_squares).reals(6, {histogram.edges.begin() + 1, histogram.edges.end()});
  content.reals(7, histogram.counts);
  return Message().text(kTag, tag).message(kHistogram, content);
}

/// A google.protobuf.Value.
Message hyperparameter(const nlohmann::json& value) {
  Message content;
  if (value.is_boolean()) return content.integer(4, value.get<bool>() ? 1 : 0);
  if (value.is_number()) return content.real(2, value.get<double>());
  return content.text(3, value.is_string() ? value.get<std::string>() : value.dump());
}

/// For the table of hyperparameters of several runs.
Message hyperparameters(const TrackedRun& run) {
  Message session;
  for (const TrackedSetting& setting : run.settings)
    session.message(1, Message()
                           .text(1, setting.section + "." + setting.name)
                           .message(2, hyperparameter(nlohmann::json::parse(setting.json))));
  session.text(4, run.name).real(5, seconds_since_1970());
  const Message content = Message().integer(1, 0).message(3, session);
  return Message().text(kTag, "_hparams_/session_start_info").message(kMetadata, metadata("hparams", content));
}

/// Every number of an object, those within named as "seconds/rollout".
void take_numbers(const nlohmann::json& object, const std::string& prefix, std::map<std::string, double>& numbers) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) take_numbers(value, prefix + name + "/", numbers);
    if (value.is_boolean()) numbers[prefix + name] = value.get<bool>() ? 1 : 0;
    if (value.is_number()) numbers[prefix + name] = value.get<double>();
  }
}

/// By their names in metrics.jsonl.
std::map<std::string, double> numbers_of(const StepRecord& step) {
  std::map<std::string, double> numbers;
  take_numbers(nlohmann::json::parse(to_json_line(step)), "", numbers);
  numbers.erase("step");
  return numbers;
}

}  // namespace

TensorBoardEvents::TensorBoardEvents(const fs::path& folder, const TrackedRun& run) {
  create_folder(folder);
  const auto before = event_files(folder);
  for (const fs::path& file : before) cut_events(file, run.first_step);
  file_ = folder / next_event_file(before);
  append_to_file(
      file_, tf_record(Message().real(kWallTime, seconds_since_1970()).text(kFileVersion, "brain.Event:2").bytes()));
  append(run.first_step, kSessionLog, Message().integer(1, kSessionStart));
  Message summary;
  summary.message(1, text_value("configuration", {{as_code(run.toml)}}));
  summary.message(1, hyperparameters(run));
  append(run.first_step, kSummary, summary);
}

void TensorBoardEvents::write(const StepRecord& step, const std::vector<SampleText>& held_out) const {
  Message summary;
  for (const auto& [name, number] : numbers_of(step))
    summary.message(1, Message().text(kTag, name).single(kSimpleValue, static_cast<float>(number)));
  for (const auto& [name, values] : step.distributions) {
    if (const Histogram histogram = histogram_of(values); histogram.count > 0)
      summary.message(1, histogram_value(name, histogram));
  }
  if (!held_out.empty()) summary.message(1, samples_value("held_out_samples", held_out));
  if (!step.samples.empty()) summary.message(1, samples_value("samples", step.samples));
  append(step.step, kSummary, summary);
}

void TensorBoardEvents::append(std::int64_t step, int field, const Message& content) const {
  const Message event = Message().real(kWallTime, seconds_since_1970()).integer(kStep, step).message(field, content);
  append_to_file(file_, tf_record(event.bytes()));
}

}  // namespace drift
