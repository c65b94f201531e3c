#pragma once

// From a sweep's file to the runs that it asks for, every one of them checked.

#include <core/config/run_config.h>
#include <core/sweep/sweep_file.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace drift {

/// One run. Cells with the same settings share it.
struct SweepRun {
  std::string key;    ///< of its settings; the name of its folder
  std::string label;  ///< of the first cell that wants it, with the seed
  RunConfig config;
  std::int64_t steps = 0;
};

/// Which run gives a cell's result for a seed.
struct SeedRun {
  std::int64_t seed = 0;
  std::size_t run = 0;  ///< index into SweepPlan::runs
};

struct SweepPlan {
  SweepFile file;
  std::vector<GridCell> cells;
  std::vector<std::vector<SeedRun>> seeds;  ///< one list a cell
  std::vector<SweepRun> runs;               ///< in the order in which they are made: all cells of the first seed first
};

/// Checks a document. @throws ConfigError
using ResolveRun = std::function<RunConfig(const ConfigDocument& document)>;

/// Check every cell with every seed. @throws ConfigError with the mistakes of all cells, each of them once
SweepPlan plan_sweep(SweepFile sweep, std::vector<GridCell> cells, const std::vector<ConfigDocument>& documents,
                     const ResolveRun& resolve);

/// The cell that differs from this one in nothing but the axis that is compared: itself where there are no axes.
std::size_t baseline_of(const SweepPlan& plan, std::size_t cell);

/// What a cell sets other than its baseline, presets' values included: "train.steps = 20, advantage.std = \"none\"".
/// That of a baseline is set beside the first cell's. Keys that are axes are left out: the cell's label names them.
std::string different_settings(const SweepPlan& plan, std::size_t cell);

/// What somebody should know before the runs are made, one line each: that what is compared writes its responses in
/// different ways because of presets.
std::vector<std::string> plan_notes(const SweepPlan& plan);

}  // namespace drift
