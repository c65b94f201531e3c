#pragma once

// What the runs of a sweep came to: a row for every cell.

#include <core/sweep/run_lines.h>
#include <core/sweep/sweep_plan.h>

#include <filesystem>
#include <string>
#include <vector>

namespace drift {

struct ResultRow {
  std::vector<std::string> values;  ///< one an axis
  std::string group;                ///< labels of all axes but the one that is compared; may be empty
  RunLine line;                     ///< its runs, under the label of the value of the axis that is compared
  int finished = 0;                 ///< runs that are in the row
  int wanted = 0;                   ///< seeds of the cell
  bool is_baseline = false;
  Estimate measure;     ///< in the measure's unit
  Estimate difference;  ///< to the baseline of the group, seed by seed, in the measure's unit; unknown for the baseline
  double corrected_p = kUnknown;  ///< of the paired t-test of the difference; Holm's correction over all rows
  Estimate validation;            ///< accuracy on the items that are kept apart for choosing, in [0, 1]
  bool is_chosen = false;         ///< the best of its group by that
  std::string settings;           ///< different_settings()
  Estimate reward;                ///< training reward over the last tenth of the steps
  RunNumbers mean;                ///< over the runs, but for the memory: that of the largest
};

struct SweepResults {
  const SweepPlan* plan = nullptr;
  std::vector<RunRecord> records;  ///< one a run of the plan
  std::vector<ResultRow> rows;     ///< one a cell
};

/// Read every run's folder. The plan must outlive the results.
SweepResults collect_results(const SweepPlan& plan, const std::filesystem::path& runs);

/// The rows of cells that share a picture, in the grid's order, by the place of their first cell.
std::vector<std::vector<std::size_t>> groups_of(const std::vector<ResultRow>& rows);

}  // namespace drift
