#pragma once

// Which runs are one line of a comparison: those that differ in nothing but the seed.

#include <core/record/estimate.h>
#include <core/sweep/compared_run.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace drift {

struct RunLine {
  std::string label;              ///< what sets it apart from the others, as short as that may be
  std::vector<ComparedRun> runs;  ///< by seed, each of them once
  std::string baseline = {};      ///< label of the line that a sweep compares it with; empty where there is no sweep

  /// Of its runs.
  std::int64_t finished() const;
  /// Over these.
  Estimate over_finished(const std::function<double(const ComparedRun&)>& value) const;
  Estimate over_finished(double RunNumbers::*number) const;
  Estimate over_finished(const SweepMeasure& measure) const;
  /// What they have more than those of another line with the same seed, in the measure's unit.
  Estimate difference_to(const RunLine& baseline, const SweepMeasure& measure) const;
};

/// The runs of some arguments, `FOLDER` or `NAME=FOLDER`, where a folder is as in runs_in(). Lines come in the order of
/// the arguments; those of a sweep in its order, others by what they differ in. Runs of different names are different
/// lines.
/// @throws Error if there is no run, or if two folders hold the same settings with the same seed
std::vector<RunLine> run_lines(const std::vector<std::string>& arguments);

/// The same of runs that were read: an inner list for every argument.
std::vector<RunLine> run_lines(std::vector<std::vector<ComparedRun>> arguments);

}  // namespace drift
