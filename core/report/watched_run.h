#pragma once

// What a run's folder tells while the run goes on, from any machine that sees it. Nothing is written or locked.

#include <core/base/unknown.h>
#include <core/record/alarms.h>
#include <core/record/metrics_reader.h>
#include <core/record/step_record.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace drift {

enum class WatchedState {
  kAwaited,  ///< there is no run in the folder yet
  kRunning,
  kFinished,
  kStopped,  ///< by a signal, with a checkpoint
  kFailed,   ///< by an error
  kLost,     ///< it ended and left no word, or its machine is out of reach
};

/// "no run yet", "running", "finished", "stopped", "failed", "lost"
const char* name_of(WatchedState state);

/// A response of the last evaluation. Texts are as the model wrote them.
struct WatchedSample {
  std::int64_t step = 0;
  std::string prompt = {}, response = {}, reason = {};
  double reward = kUnknown;
  bool solved = false;
};

/// What is needed of a run's config.toml.
struct WatchedSettings {
  std::int64_t steps = 0;  ///< number of the last one; 0: not known
  AlarmLimits limits = {};
};

struct WatchedRun {
  std::string name = {};
  WatchedState state = WatchedState::kAwaited;
  std::int64_t steps_planned = 0;  ///< 0: not known
  std::vector<StepRecord> steps = {};
  std::vector<Alarm> alarms = {};
  std::vector<WatchedSample> samples = {};
  std::string error = {};       ///< why it failed
  double quiet = kUnknown;      ///< seconds since it wrote anything
  std::int64_t unreadable = 0;  ///< lines of its metrics
  std::string trouble = {};     ///< why a file cannot be read; empty: all can

  /// Of the last step that is finished; 0: none.
  std::int64_t last_step() const { return steps.empty() ? 0 : steps.back().step; }
  /// Mean over the last steps, evaluations not counted.
  double seconds_per_step() const;
  /// For the steps that remain; unknown unless it runs.
  double seconds_left() const;
  /// Whether it has written nothing for far longer than a step takes.
  bool is_quiet() const;
};

/// Reads the folder of one run again and again, and of its files only what has changed.
class RunWatch {
 public:
  using ReadSettings = std::function<WatchedSettings(const std::filesystem::path& config)>;

  /// @param read_settings  what a config.toml says; may throw an Error
  RunWatch(std::filesystem::path folder, ReadSettings read_settings);

  /// @param run  as the last look left it
  /// @param now  seconds since the epoch
  void look(WatchedRun& run, double now);

 private:
  bool changed(const char* file);
  void read_summary(WatchedRun& run);
  void read_samples(WatchedRun& run) const;
  WatchedState state_of(const WatchedRun& run) const;
  double seconds_quiet(double now) const;

  std::filesystem::path folder_;
  ReadSettings read_settings_;
  MetricsTail metrics_;
  AlarmLimits limits_;
  std::map<std::string, std::string> stamps_;  ///< of files when they were read
  std::string status_;                         ///< of summary.json, and the step that it is about
  std::int64_t status_step_ = 0;
};

}  // namespace drift
