#include <core/report/watched_run.h>

#include <core/io/atomic.h>
#include <core/io/folder_lock.h>
#include <core/io/json.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStepsOfRate = 20;
constexpr double kLongestSilence = 60;  // seconds, or of steps the number below if that is longer
constexpr double kStepsOfSilence = 10;

/// Changes with the file; empty if there is none.
std::string stamp_of(const fs::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return {};
  return std::to_string(found.st_ino) + " " + std::to_string(found.st_size) + " " +
         std::to_string(found.st_mtim.tv_sec) + " " + std::to_string(found.st_mtim.tv_nsec);
}

std::string text_at(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

WatchedSample watched_sample(const nlohmann::json& json) {
  WatchedSample sample;
  sample.prompt = text_at(json, "prompt");
  sample.response = text_at(json, "response");
  sample.reason = text_at(json, "reason");
  sample.reward = json_number(json, "reward");
  const double step = json_number(json, "step");
  sample.step = std::isnan(step) ? 0 : static_cast<std::int64_t>(step);
  sample.solved = json.contains("solved") && json["solved"] == true;
  return sample;
}

}  // namespace

const char* name_of(WatchedState state) {
  static constexpr const char* kWords[] = {"no run yet", "running", "finished", "stopped", "failed", "lost"};
  return kWords[static_cast<std::size_t>(state)];
}

double WatchedRun::seconds_per_step() const {
  double sum = 0;
  std::size_t known = 0;
  for (auto step = steps.rbegin(); step != steps.rend() && known < kStepsOfRate; ++step) {
    if (const double seconds = step->value("seconds"); !std::isnan(seconds)) sum += seconds, ++known;
  }
  return known > 0 ? sum / static_cast<double>(known) : kUnknown;
}

double WatchedRun::seconds_left() const {
  if (state != WatchedState::kRunning || steps_planned == 0) return kUnknown;
  return static_cast<double>(std::max<std::int64_t>(0, steps_planned - last_step())) * seconds_per_step();
}

bool WatchedRun::is_quiet() const {
  const double step = seconds_per_step();
  return quiet > std::max(kLongestSilence, std::isnan(step) ? 0 : kStepsOfSilence * step);
}

RunWatch::RunWatch(fs::path folder, ReadSettings read_settings)
    : folder_(std::move(folder)), read_settings_(std::move(read_settings)), metrics_(folder_ / "metrics.jsonl") {}

bool RunWatch::changed(const char* file) {
  std::string now = stamp_of(folder_ / file);
  std::string& before = stamps_[file];
  if (now == before) return false;
  before = std::move(now);
  return true;
}

void RunWatch::look(WatchedRun& run, double now) {
  run.trouble.clear();
  bool limits_changed = false;
  const auto attempt = [&](const char* file, const auto& read) {
    try {
      read();
    } catch (const std::exception& error) {  // half of a file, perhaps: it is read again
      stamps_.erase(file);
      run.trouble = error.what();
    }
  };
  attempt("config.toml", [&] {
    if (!changed("config.toml") || stamps_["config.toml"].empty()) return;
    const WatchedSettings settings = read_settings_(folder_ / "config.toml");
    run.steps_planned = settings.steps;
    limits_ = settings.limits;
    limits_changed = true;
  });
  if (metrics_.look(run.steps) || limits_changed) run.alarms = alarms_of(run.steps, limits_);
  run.unreadable = metrics_.unreadable();
  attempt("summary.json", [&] {
    if (changed("summary.json")) read_summary(run);
  });
  attempt("samples.json", [&] {
    if (changed("samples.json")) read_samples(run);
  });
  run.quiet = seconds_quiet(now);
  run.state = state_of(run);
}

void RunWatch::read_summary(WatchedRun& run) {
  status_.clear();
  run.error.clear();
  if (stamps_["summary.json"].empty()) return;
  const nlohmann::json summary = read_json_object(folder_ / "summary.json");
  status_ = text_at(summary, "status");
  run.error = text_at(summary, "error");
  const double step = json_number(summary, "steps");
  status_step_ = std::isnan(step) ? 0 : static_cast<std::int64_t>(step);
}

void RunWatch::read_samples(WatchedRun& run) const {
  run.samples.clear();
  if (stamps_.at("samples.json").empty()) return;
  const auto samples = parse_json(read_json_text(folder_ / "samples.json"), "samples.json");
  for (const nlohmann::json& sample : samples) {
    if (sample.is_object()) run.samples.push_back(watched_sample(sample));
  }
}

WatchedState RunWatch::state_of(const WatchedRun& run) const {
  bool is_held = false;
  try {
    is_held = FolderLock::holder(folder_).has_value();
  } catch (const Error&) {  // locks do not work here: what was written must tell
  }
  if (is_held) return WatchedState::kRunning;
  // After --resume the summary of the earlier start stays until the first step.
  if (status_step_ == run.last_step()) {
    if (status_ == "finished") return WatchedState::kFinished;
    if (status_ == "interrupted") return WatchedState::kStopped;
    if (status_ == "failed") return WatchedState::kFailed;
  }
  if (std::isnan(run.quiet)) return WatchedState::kAwaited;
  // A lock that another machine holds may not be seen here; one of this machine is.
  return FolderLock::was_of_this_host(folder_) || run.is_quiet() ? WatchedState::kLost : WatchedState::kRunning;
}

double RunWatch::seconds_quiet(double now) const {
  double latest = kUnknown;
  for (const char* file : {"metrics.jsonl", "log.txt", "summary.json", "config.toml"}) {
    struct stat found {};
    if (::stat((folder_ / file).c_str(), &found) != 0) continue;
    const double written =
        static_cast<double>(found.st_mtim.tv_sec) + 1e-9 * static_cast<double>(found.st_mtim.tv_nsec);
    if (std::isnan(latest) || written > latest) latest = written;
  }
  return std::isnan(latest) ? kUnknown : std::max(0.0, now - latest);  // clocks differ
}

}  // namespace drift
