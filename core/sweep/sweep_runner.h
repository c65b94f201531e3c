#pragma once

#include <core/report/terminal.h>
#include <core/sweep/launcher.h>
#include <core/sweep/sweep_plan.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace drift {

/// Where a sweep puts what it makes:
///
///     runs/KEY/            one run: what `drift train` writes, its settings.toml and output.txt
///     table.* runs.csv report.html sweep.toml cells.json
struct SweepFolder {
  std::filesystem::path path;

  std::filesystem::path run(const std::string& key) const { return path / "runs" / key; }
};

struct SweepOutcome {
  std::size_t failed = 0;  ///< runs that ended with an error
  int signal = 0;          ///< what stopped the sweep, or 0
};

/// Makes the runs of a plan that are not finished yet, each as a job of a launcher, until every run is finished or has
/// failed, or SIGINT or SIGTERM came and the runs of this machine have saved.
///
/// A run saves its state when it is told to stop, and begins or goes on from what its folder holds: whoever kills what
/// and when, calling this again ends with the same results.
/// @param sharing  runs that share this machine's threads
SweepOutcome run_sweep(const SweepPlan& plan, const SweepFolder& folder, Launcher& launcher, std::size_t sharing,
                       Terminal& terminal);

}  // namespace drift
