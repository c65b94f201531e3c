#include <core/sweep/sweep_results.h>

#include <core/record/significance.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace drift {
namespace {

RunLine line_of(const SweepResults& results, std::size_t cell, const std::filesystem::path& runs) {
  RunLine line;
  for (const SeedRun& seed : results.plan->seeds[cell]) {
    ComparedRun& run = line.runs.emplace_back();
    run.folder = runs / results.plan->runs[seed.run].key;
    run.seed = seed.seed;
    run.record = results.records[seed.run];
    run.costs.resize(run.record.metrics.size());
  }
  std::ranges::sort(line.runs, {}, &ComparedRun::seed);
  return line;
}

void name_row(const SweepPlan& plan, std::size_t cell, ResultRow& row) {
  for (std::size_t axis = 0; axis < plan.file.axes.size(); ++axis) {
    const std::size_t value = plan.cells[cell].values[axis];
    row.values.push_back(plan.file.axes[axis].values[value].name);
    const std::string label = plan.file.axes[axis].label(value);
    if (axis == plan.file.compared) {
      row.line.label = label;
    } else {
      row.group += (row.group.empty() ? "" : ", ") + label;
    }
  }
  if (plan.file.axes.empty()) row.line.label = plan.cells[cell].label;
}

/// What the runs of a cell, already in its row, came to.
void take_numbers(const SweepPlan& plan, std::size_t cell, std::vector<ResultRow>& rows) {
  ResultRow& row = rows[cell];
  const std::size_t baseline = baseline_of(plan, cell);
  const SweepMeasure& measure = plan.file.measure;
  row.wanted = static_cast<int>(row.line.runs.size());
  row.finished = static_cast<int>(row.line.finished());
  row.is_baseline = baseline == cell;
  row.measure = row.line.over_finished(measure);
  if (!row.is_baseline) row.difference = row.line.difference_to(rows[baseline].line, measure);
  row.validation = row.line.over_finished(&RunNumbers::validation);
  row.reward = row.line.over_finished(&RunNumbers::reward);
  row.settings = different_settings(plan, cell);
  for (const RunNumber& number : kRunNumbers) row.mean.*number.value = row.line.over_finished(number.value).mean;
  for (const ComparedRun& run : row.line.runs) {
    if (run.finished()) row.mean.peak_memory_mib = std::fmax(row.mean.peak_memory_mib, run.record.peak_memory_mib);
  }
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
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    ResultRow& row = results.rows.emplace_back();
    row.line = line_of(results, cell, runs);
    name_row(plan, cell, row);
  }
  std::vector<double> p;
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    take_numbers(plan, cell, results.rows);
    p.push_back(t_test(results.rows[cell].difference).p);
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
