#include <core/tracking/offline_run.h>

#include <core/base/here_and_now.h>
#include <core/io/append.h>
#include <core/io/atomic.h>
#include <core/io/checksum.h>
#include <core/io/file_error.h>
#include <core/io/json.h>
#include <core/io/sha256.h>
#include <core/tracking/record_log.h>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <optional>
#include <system_error>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Numbers of fields, from wandb/proto/wandb_internal.proto.
constexpr int kRecordNumber = 1;
enum RecordType {
  kHistory = 2,
  kSummaryRecord = 3,
  kConfig = 5,
  kFiles = 6,
  kRun = 17,
  kExit = 18,
  kHeader = 21,
  kEnvironment = 26
};
constexpr int kMedia = 2;
constexpr const char* kOldestReader = "0.40.0";
constexpr std::string_view kRunFolder = "offline-run-";

/// The run that `folder` holds, if there is one.
std::optional<fs::path> present_run(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    if (entry->is_directory(failed) && entry->path().filename().string().starts_with(kRunFolder)) return entry->path();
  }
  return std::nullopt;
}

std::string id_of(const fs::path& run_folder) {
  const std::string name = run_folder.filename().string();
  return name.substr(name.rfind('-') + 1);
}

/// One object for each section.
Json settings_json(const TrackedRun& run) {
  Json settings;
  for (const TrackedSetting& setting : run.settings)
    settings[setting.section][setting.name] = Json::parse(setting.json);
  return settings;
}

Message config_message(const TrackedRun& run) {
  Message config;
  const Json settings = settings_json(run);  // items() refers to it
  for (const auto& [section, values] : settings.items())
    config.message(1, Message().text(1, section).text(16, json_text(values)));
  return config;
}

/// A name with dots is one name, not a path.
Message value_item(const std::string& name, const std::string& json) { return Message().text(2, name).text(16, json); }

Json histogram_json(const Histogram& histogram) {
  return {{"_type", "histogram"}, {"values", histogram.counts}, {"bins", histogram.edges}};
}

}  // namespace

OfflineRun::OfflineRun(const fs::path& folder, const std::string& project, const TrackedRun& run) {
  if (const auto present = present_run(folder)) continue_run(*present, run.first_step);
  if (records_ == 0) {
    start(folder, project, run);
  } else {
    append(kConfig, config_message(run));
  }
  write_run_files(run);
}

void OfflineRun::start(const fs::path& folder, const std::string& project, const TrackedRun& run) {
  started_ = static_cast<std::int64_t>(seconds_since_1970());
  if (folder_.empty()) {
    const std::string id =
        checksum(folder.string() + std::to_string(seconds_since_1970()) + host_name() + std::to_string(::getpid()))
            .substr(0, 8);
    folder_ = folder / (std::string(kRunFolder) + time_text("%Y%m%d_%H%M%S", started_, false) + "-" + id);
    log_ = folder_ / ("run-" + id + ".wandb");
  }
  create_folder(folder_ / "files");
  write_file_atomically(log_, record_log_header());
  size_ = record_log_header().size();
  const Message version = Message().text(1, "drift " + run.version).text(2, kOldestReader);
  append(kHeader, Message().message(1, version));
  Message content;
  content.text(1, id_of(folder_)).text(3, project).message(4, config_message(run)).text(8, run.name);
  content.text(13, host_name()).message(17, Message().integer(1, started_));
  append(kRun, content);
  const Message environment = Message().text(1, "Linux").message(3, Message().integer(1, started_)).text(6, "drift");
  append(kEnvironment, Message(environment).text(12, host_name()).text(14, "drift"));
}

// The log is cut before the first record of a step that is done again, and before the end of an interrupted run. What
// was uploaded of it is to be uploaded again.
void OfflineRun::continue_run(const fs::path& run_folder, std::int64_t first_step) {
  folder_ = run_folder;
  log_ = run_folder / ("run-" + id_of(run_folder) + ".wandb");
  std::error_code failed;
  if (!fs::exists(log_, failed)) return;
  const std::string file = read_whole_file(log_, kLargestLog);
  std::int64_t kept = 0;
  for (const LoggedRecord& record : read_record_log(file)) {
    if (find_field(record.bytes, {kExit})) break;
    if (find_field(record.bytes, {kHistory})) {
      const auto step = find_field(record.bytes, {kHistory, 2, 1});
      if ((step ? step->integer : 0) >= first_step) break;
    }
    if (const auto start = find_field(record.bytes, {kRun, 17, 1})) started_ = start->integer;
    ++kept;
    size_ = record.end;
  }
  if (started_ == 0) return;  // cut off before the record of the run
  records_ = kept;
  fs::resize_file(log_, size_, failed);
  if (failed) throw_file_error("write", log_, failed.value());
  for (const char* mark : {".synced", ".syncstate"}) fs::remove(log_.string() + mark, failed);
}

void OfflineRun::write_run_files(const TrackedRun& run) const {
  // JSON is YAML, too.
  std::string yaml = "wandb_version: 1\n";
  const Json settings = settings_json(run);
  for (const auto& [section, values] : settings.items())
    yaml += "\n" + json_text(Json(section)) + ":\n  value: " + json_text(values) + "\n";
  write_file_atomically(folder_ / "files" / "config.yaml", yaml);
  const Json metadata{{"program", "drift"},           {"executable", "drift"},
                      {"host", host_name()},          {"startedAt", time_text("%Y-%m-%dT%H:%M:%SZ", started_, true)},
                      {"drift_version", run.version}, {"device", run.device}};
  write_file_atomically(folder_ / "files" / "wandb-metadata.json", json_text(metadata, 2) + "\n");
}

void OfflineRun::write(const TrackedStep& step) {
  Message history, summary;
  for (const auto& [name, samples] : step.samples)
    history.message(1, value_item(name, write_table(name, step.step, samples)));
  for (const auto& [name, histogram] : step.histograms)
    history.message(1, value_item(name, json_text(histogram_json(histogram))));
  std::map<std::string, double> numbers = step.numbers;
  numbers["_timestamp"] = seconds_since_1970();
  numbers["_runtime"] = seconds();
  for (const auto& [name, number] : numbers) {
    history.message(1, value_item(name, Json(number).dump()));
    summary.message(1, value_item(name, Json(number).dump()));
  }
  history.message(1, value_item("_step", std::to_string(step.step)));
  summary.message(1, value_item("_step", std::to_string(step.step)));
  append(kHistory, history.message(2, Message().integer(1, step.step)));
  append(kSummaryRecord, summary);
}

std::string OfflineRun::write_table(const std::string& name, std::int64_t step,
                                    const std::vector<SampleText>& samples) {
  Json table{{"columns", {"question", "response", "reward", "solved"}}, {"data", Json::array()}};
  for (const SampleText& sample : samples)
    table["data"].push_back({sample.question, sample.response, sample.reward, sample.solved});
  const fs::path path = fs::path("media") / "table" / (name + "_" + std::to_string(step) + ".table.json");
  const fs::path file = folder_ / "files" / path;
  create_folder(file.parent_path());
  const std::string text = json_text(table);
  write_file_atomically(file, text);
  append(kFiles, Message().message(1, Message().text(1, path.string()).integer(3, kMedia)));
  return json_text(Json{{"_type", "table-file"},
                        {"path", path.string()},
                        {"sha256", sha256_of_file(file)},
                        {"size", text.size()},
                        {"ncols", table["columns"].size()},
                        {"nrows", samples.size()}});
}

void OfflineRun::end(int status) {
  append(kExit, Message().integer(1, status).integer(2, static_cast<std::int64_t>(seconds())));
}

void OfflineRun::append(int type, const Message& content) {
  const Message record = Message().integer(kRecordNumber, ++records_).message(type, content);
  const std::string framed = framed_record(record.bytes(), size_);
  append_to_file(log_, framed);
  size_ += framed.size();
}

double OfflineRun::seconds() const { return seconds_since_1970() - static_cast<double>(started_); }

}  // namespace drift
