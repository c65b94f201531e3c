#include <core/sweep/sweep_results.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace drift {
namespace {

using BySeed = std::map<std::int64_t, double>;

class Collector {
 public:
  Collector(const SweepPlan& plan, SweepResults& results) : plan_(plan), results_(results) {}

  void rows() {
    for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) results_.rows.push_back(row(cell));
    for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
      ResultRow& row = results_.rows[cell];
      if (!row.is_baseline) row.difference = paired_difference(measures(cell), measures(baseline_of(cell)));
    }
  }

 private:
  ResultRow row(std::size_t cell) const {
    ResultRow row;
    label(cell, row);
    row.wanted = static_cast<int>(plan_.seeds[cell].size());
    row.finished = static_cast<int>(finished(cell).size());
    row.is_baseline = baseline_of(cell) == cell;
    row.measure = of(cell, [&](const RunRecord& run) { return measure_of(run, plan_.file.measure); });
    row.reward = of(cell, [](const RunRecord& run) { return run.reward; });
    row.seconds_per_step = of(cell, [](const RunRecord& run) { return run.seconds_per_step; }).mean;
    row.seconds = of(cell, [](const RunRecord& run) { return run.seconds; }).mean;
    row.rollout_forwards = of(cell, [](const RunRecord& run) { return run.rollout_forwards; }).mean;
    row.update_forwards = of(cell, [](const RunRecord& run) { return run.update_forwards; }).mean;
    row.update_backwards = of(cell, [](const RunRecord& run) { return run.update_backwards; }).mean;
    for (const RunRecord* run : finished(cell))
      row.peak_memory_mib = std::fmax(row.peak_memory_mib, run->peak_memory_mib);
    return row;
  }

  void label(std::size_t cell, ResultRow& row) const {
    for (std::size_t axis = 0; axis < plan_.file.axes.size(); ++axis) {
      const std::size_t value = plan_.cells[cell].values[axis];
      row.values.push_back(plan_.file.axes[axis].values[value].name);
      const std::string label = plan_.file.axes[axis].label(value);
      if (axis == plan_.file.compared) {
        row.line = label;
      } else {
        row.group += (row.group.empty() ? "" : ", ") + label;
      }
    }
    if (plan_.file.axes.empty()) row.line = plan_.cells[cell].label;
  }

  /// The cell that differs from this one in nothing but the axis that is compared.
  std::size_t baseline_of(std::size_t cell) const {
    if (plan_.file.axes.empty()) return cell;
    std::vector<std::size_t> values = plan_.cells[cell].values;
    values[plan_.file.compared] = plan_.file.baseline;
    const auto found =
        std::ranges::find_if(plan_.cells, [&](const SweepCell& other) { return other.values == values; });
    return static_cast<std::size_t>(found - plan_.cells.begin());
  }

  std::vector<const RunRecord*> finished(std::size_t cell) const {
    std::vector<const RunRecord*> runs;
    for (const SeedRun& seed : plan_.seeds[cell]) {
      if (results_.records[seed.run].status == RunStatus::kFinished) runs.push_back(&results_.records[seed.run]);
    }
    return runs;
  }

  template <class Value>
  Estimate of(std::size_t cell, Value value) const {
    std::vector<double> values;
    for (const RunRecord* run : finished(cell)) values.push_back(value(*run));
    return estimate(values);
  }

  BySeed measures(std::size_t cell) const {
    BySeed values;
    for (const SeedRun& seed : plan_.seeds[cell]) {
      const RunRecord& record = results_.records[seed.run];
      if (record.status == RunStatus::kFinished) values[seed.seed] = measure_of(record, plan_.file.measure);
    }
    return values;
  }

  const SweepPlan& plan_;
  SweepResults& results_;
};

}  // namespace

SweepResults collect_results(const SweepPlan& plan, const std::filesystem::path& runs) {
  SweepResults results;
  results.plan = &plan;
  for (const SweepRun& run : plan.runs) results.records.push_back(read_run(runs / run.key));
  Collector(plan, results).rows();
  return results;
}

double measure_of(const RunRecord& record, SweepMeasure measure) {
  switch (measure) {
    case SweepMeasure::kReward: return record.reward;
    case SweepMeasure::kSolved: return 100 * record.solved;
    default: return 100 * record.held_out;
  }
}

std::string measure_name(SweepMeasure measure) {
  switch (measure) {
    case SweepMeasure::kReward: return "reward";
    case SweepMeasure::kSolved: return "solved";
    default: return "held-out accuracy";
  }
}

std::string measure_unit(SweepMeasure measure) { return measure == SweepMeasure::kReward ? "" : "%"; }

int measure_digits(SweepMeasure measure) { return measure == SweepMeasure::kReward ? 3 : 1; }

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
