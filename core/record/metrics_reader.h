#pragma once

// metrics.jsonl of a run's folder: one object a step.

#include <core/record/held_out_result.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Time that a step spent in one phase.
struct PhaseSeconds {
  std::string name;
  double seconds;
};

/// One step. A value that the line lacks or gives as null is unknown: NaN.
struct StepMetrics {
  std::int64_t step = 0;
  std::map<std::string, double, std::less<>> values;  ///< the line's numbers by name
  std::vector<PhaseSeconds> phases;                   ///< in the line's order, without the total
  double seconds;                                     ///< the whole step
  std::optional<HeldOut> held_out;                    ///< where the step was evaluated
  bool skipped = false;                               ///< no optimizer step was made

  double value(std::string_view name) const;
};

/// All steps, in order. A missing file is a run without a step. A last line without its end (the run was killed while
/// writing it) is left out; where a step appears again (the run was resumed before it), the later lines count.
/// @throws Error naming file and line if another line is not what it should be.
std::vector<StepMetrics> read_metrics(const std::filesystem::path& path);

}  // namespace drift
