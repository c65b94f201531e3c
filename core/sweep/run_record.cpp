#include <core/sweep/run_record.h>

#include <core/io/atomic.h>
#include <core/io/file_error.h>
#include <core/io/json.h>
#include <core/record/estimate.h>
#include <core/record/metrics_reader.h>
#include <core/report/step_quantities.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProblemFile = "failed.txt";

/// The summary of a run that ended by itself; null if there is none.
nlohmann::json finished_summary(const fs::path& folder) {
  if (!is_there(folder / "summary.json")) return nullptr;
  nlohmann::json summary = read_json_object(folder / "summary.json");
  if (summary.value("status", "") != "finished") return nullptr;
  return summary;
}

/// The step of the last whole line; 0 where there is none.
std::int64_t last_step(const fs::path& metrics) {
  if (!is_there(metrics)) return 0;
  const std::string text = read_whole_file(metrics);
  const std::size_t end = text.rfind('\n');
  if (end == std::string::npos) return 0;
  const std::size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const nlohmann::json line =
      nlohmann::json::parse(text.substr(begin, end - begin), nullptr, /*allow_exceptions=*/false);
  return line.is_object() ? line.value("step", std::int64_t{0}) : 0;
}

RunRecord failed(const std::string& problem) {
  RunRecord record;
  record.status = RunStatus::kFailed;
  record.problem = problem.substr(0, problem.find('\n'));
  return record;
}

void take_results(const fs::path& folder, RunRecord& record) {
  const nlohmann::json summary = finished_summary(folder);
  if (const auto held_out = summary.find("held_out"); held_out != summary.end() && held_out->is_object()) {
    record.held_out = json_number(*held_out, "after");
    record.validation = json_number(*held_out, "validation");
  }
  const auto mean = [&](const char* name) { return estimate(values_of(record.metrics, name)).mean; };
  const auto at_the_end = [&](const char* name) {
    std::vector<double> values = values_of(record.metrics, name);
    // The evaluation before the first step is none.
    if (!values.empty() && record.metrics.front().step == 0) values.erase(values.begin());
    return mean_of_last_tenth(values);
  };
  record.reward = at_the_end("reward");
  record.solved = at_the_end("solved");
  record.seconds = json_number(summary, "seconds");
  record.seconds_per_step = mean("seconds");
  record.rollout_forwards = mean("forwards_per_response");
  record.update_forwards = mean("update_forwards_per_response");
  record.update_backwards = mean("update_backwards_per_response");
  record.rollout_gap = mean("rollout_gap");
  record.peak_memory_mib = json_number(summary, "peak_memory_mib");
  record.version = summary.value("version", "");
  record.threads = summary.value("threads", std::int64_t{0});
  if (is_there(folder / "plugins.json")) {
    const fs::path file = folder / "plugins.json";
    for (const nlohmann::json& plugin : parse_json(read_json_text(file), file.string()))
      record.plugins[plugin.value("name", "")] = plugin.value("sha256", "");
  }
}

}  // namespace

std::string SweepMeasure::title() const { return name + std::string(*unit == '\0' ? "" : " ") + unit; }

std::string SweepMeasure::column() const {
  std::string column = name;
  std::ranges::replace_if(
      column, [](char c) { return c == ' ' || c == '-'; }, '_');
  return column + (*unit == '\0' ? "" : "_percent");
}

std::string status_name(RunStatus status) {
  switch (status) {
    case RunStatus::kNew: return "new";
    case RunStatus::kPartial: return "partial";
    case RunStatus::kFailed: return "failed";
    default: return "finished";
  }
}

RunRecord glance_at_run(const fs::path& folder) {
  RunRecord record;
  try {
    record.step = last_step(folder / "metrics.jsonl");
    if (!finished_summary(folder).is_null()) {
      record.status = RunStatus::kFinished;
    } else if (is_there(folder / kProblemFile)) {
      record.status = RunStatus::kFailed;
      record.problem = read_whole_file(folder / kProblemFile);
    } else if (is_there(begun_file(folder))) {
      record.status = RunStatus::kPartial;
    }
  } catch (const Error& error) {
    return failed(error.what());
  } catch (const nlohmann::json::exception& error) {
    return failed("summary.json: " + json_problem(error));
  }
  return record;
}

RunRecord read_run(const fs::path& folder) {
  RunRecord record = glance_at_run(folder);
  try {
    record.metrics = read_metrics(folder / "metrics.jsonl");
    if (record.status == RunStatus::kFinished) take_results(folder, record);
  } catch (const Error& error) {
    return failed(error.what());
  } catch (const nlohmann::json::exception& error) {
    return failed(folder.string() + ": " + json_problem(error));
  }
  return record;
}

fs::path begun_file(const fs::path& folder) { return folder / "config.toml"; }

void write_problem(const fs::path& folder, const std::string& problem) {
  std::error_code ignored;
  if (problem.empty()) {
    fs::remove(folder / kProblemFile, ignored);
  } else {
    write_file_atomically(folder / kProblemFile, problem);
  }
}

}  // namespace drift
