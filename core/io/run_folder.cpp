#include <core/io/run_folder.h>

#include <core/base/child_process.h>
#include <core/io/atomic.h>
#include <core/io/checkpoint.h>
#include <core/io/file_error.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kLast = "last";
constexpr const char* kBest = "best";
constexpr const char* kInspect = "inspect";
constexpr const char* kOther = "another run";
// In this order: what makes it a run that has begun goes last.
constexpr std::array kFilesOfARun = {"tensorboard",       "wandb",        "report.html",  "replay_before.html",
                                     "replay_after.html", "summary.json", "samples.json", "changes.jsonl",
                                     "log.txt",           "plugins.json", "inspect",      "config.toml",
                                     "metrics.jsonl",     "checkpoints"};

std::string step_name(std::int64_t step) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%06lld", static_cast<long long>(step));
  return std::string(kStepPrefix) + digits.data();
}

struct StepEntry {
  std::int64_t step = 0;
  fs::path path;
};

// Those whose name is the step's with `ending`, newest first.
std::vector<StepEntry> step_entries(const fs::path& folder, const std::string& ending = "") {
  std::vector<StepEntry> found;
  for (const fs::path& entry : entries_of(folder)) {
    const std::string name = entry.filename().string();
    std::int64_t step = 0;
    if (!name.starts_with(kStepPrefix)) continue;
    std::from_chars(name.data() + kStepPrefix.size(), name.data() + name.size(), step);
    if (name == step_name(step) + ending) found.push_back({step, entry});
  }
  std::sort(found.begin(), found.end(), [](const StepEntry& a, const StepEntry& b) { return a.step > b.step; });
  return found;
}

// Nothing if the line is not an object with an integer step.
std::optional<std::int64_t> step_of(std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto step = json.find("step");
  if (step == json.end() || !step->is_number_integer()) return std::nullopt;
  return step->get<std::int64_t>();
}

void refuse_begun(const fs::path& path, RunFolder::Existing existing) {
  if (existing == RunFolder::Existing::kOverwrite || !RunFolder::has_begun(path)) return;
  throw Error("folder " + path.string() + " already has a run",
              "continue it with --resume, replace it with --overwrite, or choose another folder with --out");
}

// The command that makes a run continue from this checkpoint.
std::string link_command(const fs::path& checkpoint) {
  return shell_command({"ln", "-sfn", checkpoint.filename().string(), (checkpoint.parent_path() / kLast).string()});
}

// What to do if the checkpoint to continue from cannot be used.
std::string name_whole_checkpoint(const fs::path& checkpoints, const fs::path& broken) {
  for (const StepEntry& other : step_entries(checkpoints)) {
    if (other.path.filename() == broken.filename()) continue;
    try {
      read_training_state(other.path);
      return "the newest complete checkpoint is " + other.path.string() +
             "; to continue from there: " + link_command(other.path);
    } catch (const Error&) {  // not this one either
    }
  }
  return "no other checkpoint of this run is complete: start a new run in another folder";
}

}  // namespace

std::string earlier_checkpoint_command(const fs::path& checkpoint) {
  for (const StepEntry& other : step_entries(checkpoint.parent_path())) {
    if (other.path.filename() < checkpoint.filename()) return link_command(other.path);
  }
  return "";
}

bool RunFolder::has_begun(const fs::path& path) {
  std::error_code failed;
  const fs::path metrics = path / kMetrics, checkpoints = path / "checkpoints";
  return (fs::is_regular_file(metrics, failed) && !fs::is_empty(metrics, failed)) ||
         (fs::is_directory(checkpoints, failed) && !fs::is_empty(checkpoints, failed));
}

void RunFolder::check_free(const fs::path& path, Existing existing) {
  FolderLock::require_free(path, kOther);
  refuse_begun(path, existing);
}

RunFolder RunFolder::create(const fs::path& path, Existing existing) {
  create_folder(path);
  RunFolder run(path);
  refuse_begun(path, existing);
  for (const char* name : kFilesOfARun) {
    std::error_code failed;
    fs::remove_all(path / name, failed);
    if (failed) throw_file_error("remove", path / name, failed.value());
  }
  create_folder(run.checkpoints());
  return run;
}

RunFolder RunFolder::open(const fs::path& path) {
  std::error_code failed;
  if (!fs::exists(path / "config.toml", failed) && !has_begun(path))
    throw Error("there is no run in " + path.string() + " to continue", "start it without --resume");
  if (!fs::is_directory(path / "checkpoints", failed)) {
    throw Error("the run in " + path.string() + " has lost its folder checkpoints, and cannot continue",
                "put the folder back, or start the run anew with --overwrite in place of --resume");
  }
  RunFolder run(path);
  sweep_leftovers(run.path_);
  sweep_leftovers(run.checkpoints());
  if (fs::is_directory(path / kInspect, failed)) sweep_leftovers(path / kInspect);
  return run;
}

RunFolder::RunFolder(const fs::path& path) : path_(path), lock_(path, kOther) {}

void RunFolder::write_file(std::string_view name, std::string_view content) const {
  lock_.require_held();
  write_file_atomically(path_ / name, content);
}

void RunFolder::append_line(std::string_view name, std::string_view line) const {
  assert(line.find('\n') == std::string_view::npos);
  lock_.require_held();
  append_to_file(path_ / name, std::string(line) + "\n");
}

void RunFolder::truncate_metrics(std::int64_t step) const {
  const fs::path path = path_ / kMetrics;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
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

void RunFolder::write_inspection(std::int64_t step, std::string_view content) const {
  lock_.require_held();
  create_folder(path_ / kInspect);
  write_file_atomically(path_ / kInspect / (step_name(step) + ".json"), content);
}

void RunFolder::forget_steps_after(std::int64_t step) const {
  truncate_metrics(step);
  std::error_code failed;
  // The run does that step again: other weights, perhaps, take the folder.
  const fs::path link = checkpoints() / kBest, best = fs::read_symlink(link, failed);
  for (const StepEntry& entry : step_entries(checkpoints())) {
    if (entry.step > step && entry.path.filename() == best && !fs::remove(link, failed))
      throw_file_error("remove", link, failed.value());
  }
  if (!fs::exists(path_ / kInspect, failed)) return;
  for (const StepEntry& entry : step_entries(path_ / kInspect, ".json")) {
    if (entry.step <= step) break;
    fs::remove(entry.path, failed);
    if (failed) throw_file_error("remove", entry.path, failed.value());
  }
}

fs::path RunFolder::save_checkpoint(const RunCheckpoint& checkpoint, std::int64_t keep) const {
  assert(keep >= 1);
  const std::string name = step_name(checkpoint.state.step);
  AtomicFolder folder(checkpoints() / name, AtomicFolder::Existing::kReplace);
  if (checkpoint.adapter) {
    write_adapter_files(folder.path(), *checkpoint.adapter, checkpoint.parameters);
  } else {
    write_checkpoint_files(folder.path(), checkpoint.parameters, checkpoint.config_json, checkpoint.source,
                           kMaxWeightFileBytes, {}, checkpoint.complete);
  }
  if (!checkpoint.card.empty()) write_file_atomically(folder.path() / kCardFile, checkpoint.card);
  write_training_state(folder.path(), checkpoint.state);
  lock_.require_held();
  folder.publish();
  replace_symlink_atomically(checkpoints() / kLast, name);
  if (checkpoint.is_best) link_best(checkpoint.state.step);
  // Only now is an older one dispensable. Later steps, left by a run that went on from an earlier checkpoint, stay
  // until this run reaches them.
  std::int64_t kept = 0;
  std::error_code none;
  const fs::path best = fs::read_symlink(checkpoints() / kBest, none);
  for (const StepEntry& old : step_entries(checkpoints())) {
    if (old.step <= checkpoint.state.step && ++kept > keep && old.path.filename() != best)
      remove_folder_atomically(old.path);
  }
  return checkpoints() / name;
}

void RunFolder::link_best(std::int64_t step) const {
  std::error_code failed;
  if (fs::exists(checkpoints() / step_name(step), failed))
    replace_symlink_atomically(checkpoints() / kBest, step_name(step));
}

std::optional<ResumePoint> RunFolder::resume_point() const {
  const fs::path last = checkpoints() / kLast;
  std::error_code failed;
  fs::path folder = last;
  if (fs::is_symlink(last, failed)) {
    folder = checkpoints() / fs::read_symlink(last, failed);
  } else if (!fs::exists(last, failed)) {  // killed between the first checkpoint and its link
    const auto found = step_entries(checkpoints());
    if (found.empty()) return std::nullopt;
    folder = found.front().path;
  }
  ResumePoint point{folder, {}};
  try {
    point.state = read_training_state(folder);
  } catch (const Error& error) {
    throw Error(std::string("the run cannot continue from its newest checkpoint: ") + error.what(),
                (error.hint().empty() ? "" : error.hint() + "; ") + name_whole_checkpoint(checkpoints(), folder));
  }
  return point;
}

}  // namespace drift
