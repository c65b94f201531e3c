#pragma once

#include <core/eval/cell.h>
#include <core/report/terminal.h>
#include <core/sweep/launcher.h>

#include <cstddef>
#include <vector>

namespace drift {

/// A cell that a job of a launcher answers; the job has its name.
struct CellJob {
  EvaluationCell cell;
  Job job;
};

struct CellJobsOutcome {
  std::size_t failed = 0;
  int signal = 0;  ///< what stopped the watch, or 0
};

/// Starts the jobs that are not at work already, and tells of each when it has ended, until all have or SIGINT or
/// SIGTERM came.
CellJobsOutcome run_cell_jobs(Launcher& launcher, const std::vector<CellJob>& cells, const EvaluationFolder& folder,
                              Terminal& terminal);

}  // namespace drift
