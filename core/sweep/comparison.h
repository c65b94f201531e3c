#pragma once

// Lines of runs side by side: what each came to, and how sure it is that they differ.

#include <core/record/significance.h>
#include <core/sweep/figures.h>
#include <core/sweep/run_record.h>

#include <cstddef>
#include <string>
#include <vector>

namespace drift {

/// What a comparison is asked for; empty texts leave the choice to it.
struct ComparisonRequest {
  std::string baseline;  ///< label of the line that the others are compared with; default: a sweep's, or the first
  std::string measure;   ///< key of a SweepMeasure; default: the first that a finished run has
  Band band = Band::kError;
};

/// A line against its baseline, in the finished runs with a seed that both have.
struct LineDifference {
  std::size_t line = 0, baseline = 0;
  Estimate mean;         ///< line - baseline, seed by seed, in the measure's unit
  double half_interval;  ///< of Student's 95 % interval, not corrected
  TTest test;            ///< paired
  double corrected_p;    ///< Holm's, over all lines that could be tested
};

struct RunComparison {
  std::vector<RunLine> lines;
  SweepMeasure measure = kSweepMeasures[0];
  Band band = Band::kError;
  std::vector<LineDifference> differences;  ///< one for every line that is not its own baseline

  /// What the differences are to: a label; "the baseline of each" where a sweep has several.
  std::string baseline() const;
};

/// @throws Error if no line has the baseline's label, or there is no such measure
RunComparison compare_lines(std::vector<RunLine> lines, const ComparisonRequest& request);

}  // namespace drift
