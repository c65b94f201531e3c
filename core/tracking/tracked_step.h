#pragma once

#include <core/record/step_record.h>
#include <core/tracking/histogram.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace drift {

/// One step of a run, as programs that watch runs take it.
struct TrackedStep {
  std::int64_t step = 0;
  std::map<std::string, double> numbers;  ///< by their names in metrics.jsonl, "seconds/rollout", "held_out/accuracy"
  std::map<std::string, Histogram> histograms;
  std::map<std::string, std::vector<SampleText>> samples;
};

/// One value of a run's configuration.
struct TrackedSetting {
  std::string section, name;
  std::string json;  ///< the value
};

/// What they are told of the run itself.
struct TrackedRun {
  std::string name;
  std::string version;  ///< of Drift
  std::string device;
  std::vector<TrackedSetting> settings;
  std::string toml;             ///< the same, complete
  std::int64_t first_step = 0;  ///< that this process records; earlier ones stay
};

}  // namespace drift
