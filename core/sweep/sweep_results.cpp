#include <core/sweep/sweep_results.h>

#include <core/record/significance.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace drift {
namespace {

using BySeed = std::map<std::int64_t, const RunRecord*>;

BySeed finished_runs(const SweepResults& results, std::size_t cell) {
  BySeed runs;
  for (const SeedRun& seed : results.plan->seeds[cell]) {
    const RunRecord& record = results.records[seed.run];
    if (record.status == RunStatus::kFinished) runs[seed.seed] = &record;
  }
  return runs;
}

Estimate mean_of(const BySeed& runs, double RunNumbers::*number) {
  std::vector<double> values;
  for (const auto& [seed, run] : runs) values.push_back(run->*number);
  return estimate(values);
}

std::map<std::int64_t, double> measures(const BySeed& runs, const SweepMeasure& measure) {
  std::map<std::int64_t, double> values;
  for (const auto& [seed, run] : runs) values[seed] = measure.of(*run);
  return values;
}

void name_row(const SweepPlan& plan, std::size_t cell, ResultRow& row) {
  for (std::size_t axis = 0; axis < plan.file.axes.size(); ++axis) {
    const std::size_t value = plan.cells[cell].values[axis];
    row.values.push_back(plan.file.axes[axis].values[value].name);
    const std::string label = plan.file.axes[axis].label(value);
    if (axis == plan.file.compared) {
      row.line = label;
    } else {
      row.group += (row.group.empty() ? "" : ", ") + label;
    }
  }
  if (plan.file.axes.empty()) row.line = plan.cells[cell].label;
}

ResultRow row_of(const SweepResults& results, std::size_t cell) {
  const SweepPlan& plan = *results.plan;
  const BySeed runs = finished_runs(results, cell);
  const std::size_t baseline = baseline_of(plan, cell);
  const auto measured = measures(runs, plan.file.measure);
  ResultRow row;
  name_row(plan, cell, row);
  row.wanted = static_cast<int>(plan.seeds[cell].size());
  row.finished = static_cast<int>(runs.size());
  row.is_baseline = baseline == cell;
  std::vector<double> values;
  for (const auto& [seed, value] : measured) values.push_back(value);
  row.measure = estimate(values);
  if (!row.is_baseline)
    row.difference = paired_difference(measured, measures(finished_runs(results, baseline), plan.file.measure));
  row.validation = mean_of(runs, &RunNumbers::validation);
  row.reward = mean_of(runs, &RunNumbers::reward);
  row.settings = different_settings(plan, cell);
  for (const RunNumber& number : kRunNumbers) row.mean.*number.value = mean_of(runs, number.value).mean;
  for (const auto& [seed, run] : runs)
    row.mean.peak_memory_mib = std::fmax(row.mean.peak_memory_mib, run->peak_memory_mib);
  return row;
}

/// In each group the row of the best validation accuracy, where every row of it has one.
void choose_rows(std::vector<ResultRow>& rows) {
  for (const std::vector<std::size_t>& group : groups_of(rows)) {
    const auto validation = [&](std::size_t row) { return rows[row].validation.mean; };
    if (group.size() < 2 || std::ranges::any_of(group, [&](auto row) { return std::isnan(validation(row)); })) continue;
    rows[*std::ranges::max_element(group, {}, validation)].is_chosen = true;
  }
}

}  // namespace

SweepResults collect_results(const SweepPlan& plan, const std::filesystem::path& runs) {
  SweepResults results;
  results.plan = &plan;
  for (const SweepRun& run : plan.runs) results.records.push_back(read_run(runs / run.key));
  std::vector<double> p;
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    results.rows.push_back(row_of(results, cell));
    p.push_back(t_test(results.rows.back().difference).p);
  }
  const std::vector<double> corrected = holm(p);
  for (std::size_t row = 0; row < results.rows.size(); ++row) results.rows[row].corrected_p = corrected[row];
  choose_rows(results.rows);
  return results;
}

std::vector<std::vector<std::size_t>> groups_of(const std::vector<ResultRow>& rows) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> known;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto [entry, is_new] = known.emplace(rows[row].group, groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(row);
  }
  return groups;
}

}  // namespace drift
