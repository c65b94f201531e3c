#pragma once

// What a run's folder says about the run.

#include <core/base/unknown.h>
#include <core/record/step_record.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace drift {

enum class RunStatus {
  kNew,       ///< nothing was done yet
  kPartial,   ///< begun, to be gone on with
  kFailed,    ///< the last attempt ended with an error; it is tried again
  kFinished,  ///< all steps are done and the result is written
};

/// "new", "partial", "failed", "finished"
std::string status_name(RunStatus status);

/// What is measured of a finished run; what it does not have is unknown.
struct RunNumbers {
  double held_out = kUnknown;    ///< accuracy after the last step, in [0, 1]
  double validation = kUnknown;  ///< the same on the items of `evaluation.validation_items`
  double reward = kUnknown;      ///< mean over the last tenth of the steps, as `solved`
  double solved = kUnknown;
  double seconds = kUnknown;  ///< of training, without evaluations
  double seconds_per_step = kUnknown;
  double rollout_forwards = kUnknown;  ///< evaluations of the model a response, as the two below
  double update_forwards = kUnknown;
  double update_backwards = kUnknown;
  double rollout_gap = kUnknown;
  double peak_memory_mib = kUnknown;
};

/// One of them and its name in tables.
struct RunNumber {
  const char* name;
  double RunNumbers::*value;
};
inline constexpr std::array<RunNumber, 11> kRunNumbers = {{
    {"held_out_accuracy", &RunNumbers::held_out},
    {"validation_accuracy", &RunNumbers::validation},
    {"training_reward", &RunNumbers::reward},
    {"training_solved", &RunNumbers::solved},
    {"seconds", &RunNumbers::seconds},
    {"seconds_per_step", &RunNumbers::seconds_per_step},
    {"rollout_forwards_per_response", &RunNumbers::rollout_forwards},
    {"update_forwards_per_response", &RunNumbers::update_forwards},
    {"update_backwards_per_response", &RunNumbers::update_backwards},
    {"rollout_gap", &RunNumbers::rollout_gap},
    {"peak_memory_mib", &RunNumbers::peak_memory_mib},
}};

/// What the cells of a sweep may be ranked by, and how it is shown.
struct SweepMeasure {
  const char* key;  ///< as the sweep's file has it
  const char* name;
  const char* unit;  ///< may be empty
  int digits;        ///< after the point
  double factor;     ///< to the unit
  double RunNumbers::*value;

  double of(const RunNumbers& run) const { return factor * run.*value; }
  std::string title() const;   ///< "held-out accuracy %"
  std::string column() const;  ///< "held_out_accuracy_percent"
};
inline constexpr std::array<SweepMeasure, 3> kSweepMeasures = {{
    {"held_out", "held-out accuracy", "%", 1, 100, &RunNumbers::held_out},
    {"reward", "reward", "", 3, 1, &RunNumbers::reward},
    {"solved", "solved", "%", 1, 100, &RunNumbers::solved},
}};

struct RunRecord : RunNumbers {
  RunStatus status = RunStatus::kNew;
  std::int64_t step = 0;  ///< the last one in its metrics
  std::string problem;    ///< why it failed, one line
  std::vector<StepRecord> metrics;
  std::string version;                         ///< of the Drift that made it
  std::map<std::string, std::string> plugins;  ///< that were loaded: name, SHA-256 of the file
  std::int64_t threads = 0;
};

/// The whole record. Files that are not what they should be make a failed run, not an error.
RunRecord read_run(const std::filesystem::path& folder);

/// Its status and step alone: what a scheduler looks at.
RunRecord glance_at_run(const std::filesystem::path& folder);

/// The file of a run that is there when there is something for --resume to go on with.
std::filesystem::path begun_file(const std::filesystem::path& folder);

/// Remember in the folder that the last attempt failed, or (with no problem) forget it.
void write_problem(const std::filesystem::path& folder, const std::string& problem);

}  // namespace drift
