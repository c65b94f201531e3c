#pragma once

// A run's folder as a comparison sees it: what was set, what was measured, what it cost.

#include <core/sweep/run_record.h>
#include <core/sweep/sweep_index.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace drift {

/// What a run has cost up to the end of a step, evaluations left out. Unknown where the run did not write it down.
struct RunCost {
  double forwards = kUnknown;  ///< sequences through the model, in rollout and update together
  double seconds = kUnknown;
};

struct ComparedRun {
  std::filesystem::path folder;
  std::string name;      ///< that the user gave it, and its cell's in a sweep; may be empty
  std::string baseline;  ///< name of the runs that its sweep compares it with; empty where there is no sweep
  std::map<std::string, std::string> settings;  ///< those that decide what is measured, by key, without the seed
  std::int64_t seed = 0;
  RunRecord record;
  std::vector<RunCost> costs;  ///< one a step of `record.metrics`

  bool finished() const { return record.status == RunStatus::kFinished; }
};

/// @throws Error if no run has begun there
ComparedRun read_compared_run(const std::filesystem::path& folder);

/// The runs that have begun in a folder, which may be missing: itself; a sweep's, as it orders and calls them; or those
/// in its own folders, in the order of their names.
std::vector<IndexedRun> begun_runs(const std::filesystem::path& folder);
/// The same. @throws Error if there is no such folder, or none has begun
std::vector<IndexedRun> runs_in(const std::filesystem::path& folder);

}  // namespace drift
