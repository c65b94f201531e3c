#pragma once

// metrics.jsonl of a run's folder: one object a step.

#include <core/record/step_record.h>

#include <filesystem>
#include <vector>

namespace drift {

/// All steps, in order. A missing file is a run without a step. A last line without its end (the run was killed while
/// writing it) is left out; where a step appears again (the run was resumed before it), the later lines count.
/// @throws Error naming file and line if another line is not what it should be.
std::vector<StepRecord> read_metrics(const std::filesystem::path& path);

}  // namespace drift
