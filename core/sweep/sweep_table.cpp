#include <core/sweep/sweep_table.h>

#include <core/report/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

namespace drift {
namespace {

std::string with_sign(double value, int digits) { return (value > 0 ? "+" : "") + format_decimal(value, digits); }

std::string estimate_text(const Estimate& value, int digits, bool sign = false) {
  if (std::isnan(value.mean)) return "";
  const std::string mean = sign ? with_sign(value.mean, digits) : format_decimal(value.mean, digits);
  return std::isnan(value.error) ? mean : mean + " ± " + format_decimal(value.error, digits);
}

std::string known(double value, const std::function<std::string(double)>& text) {
  return std::isnan(value) ? "" : text(value);
}

std::string run_time(double seconds) { return seconds < 60 ? format_seconds(seconds) : format_duration(seconds); }

/// All digits that the number has; empty if it is not known.
std::string exact(double value) {
  char buffer[32];
  return std::isnan(value) ? "" : std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

class TableMaker {
 public:
  explicit TableMaker(std::size_t rows) { table_.rows.resize(rows); }

  /// A column; left out where it says nothing in any row.
  void add(const std::string& title, bool is_number, const std::function<std::string(std::size_t)>& text,
           bool always = false) {
    std::vector<std::string> column;
    for (std::size_t row = 0; row < table_.rows.size(); ++row) column.push_back(text(row));
    if (!always && std::ranges::all_of(column, [](const std::string& one) { return one.empty(); })) return;
    table_.titles.push_back(title);
    table_.is_number.push_back(is_number);
    for (std::size_t row = 0; row < table_.rows.size(); ++row) table_.rows[row].push_back(column[row]);
  }

  TextTable take() { return std::move(table_); }

 private:
  TextTable table_;
};

/// The axes, or the sweep's name where there are none.
void add_axes(const SweepResults& results, TableMaker& maker, const std::function<const ResultRow&(std::size_t)>& row) {
  const SweepFile& file = results.plan->file;
  for (std::size_t axis = 0; axis < file.axes.size(); ++axis)
    maker.add(
        file.axes[axis].name, false, [&](std::size_t at) { return row(at).values[axis]; }, true);
  if (file.axes.empty())
    maker.add(
        "sweep", false, [&](std::size_t) { return file.name; }, true);
}

}  // namespace

TextTable result_table(const SweepResults& results) {
  const std::vector<ResultRow>& rows = results.rows;
  const SweepMeasure measure = results.plan->file.measure;
  const int digits = measure_digits(measure);
  const std::string unit = measure_unit(measure);
  TableMaker maker(rows.size());
  add_axes(results, maker, [&](std::size_t at) -> const ResultRow& { return rows[at]; });
  maker.add("runs", true, [&](std::size_t at) {
    const ResultRow& row = rows[at];
    return std::to_string(row.finished) + (row.finished < row.wanted ? "/" + std::to_string(row.wanted) : "");
  });
  maker.add(measure_name(measure) + (unit.empty() ? "" : " " + unit), true,
            [&](std::size_t at) { return estimate_text(rows[at].measure, digits); });
  maker.add("difference", true, [&](std::size_t at) {
    const ResultRow& row = rows[at];
    const std::string text = estimate_text(row.difference, digits, true);
    // Fewer pairs than runs: some seeds are missing on the other side.
    return text.empty() || row.difference.count == row.finished
               ? text
               : text + " (n=" + std::to_string(row.difference.count) + ")";
  });
  if (measure != SweepMeasure::kReward)
    maker.add("reward", true, [&](std::size_t at) { return estimate_text(rows[at].reward, 3); });
  maker.add("s/step", true, [&](std::size_t at) { return known(rows[at].seconds_per_step, format_adaptive); });
  maker.add("time/run", true, [&](std::size_t at) { return known(rows[at].seconds, run_time); });
  const auto evaluations = [](double value) { return format_decimal(value, value < 10 ? 2 : 1); };
  maker.add("rollout fwd", true, [&](std::size_t at) { return known(rows[at].rollout_forwards, evaluations); });
  maker.add("update fwd", true, [&](std::size_t at) { return known(rows[at].update_forwards, evaluations); });
  maker.add("update bwd", true, [&](std::size_t at) { return known(rows[at].update_backwards, evaluations); });
  maker.add("peak MiB", true, [&](std::size_t at) {
    return known(rows[at].peak_memory_mib, [](double value) { return format_decimal(value, 0); });
  });
  return maker.take();
}

std::vector<std::string> result_notes(const SweepResults& results) {
  const SweepFile& file = results.plan->file;
  std::vector<std::string> notes;
  const bool several = std::ranges::any_of(results.rows, [](const ResultRow& row) { return row.wanted > 1; });
  if (several) notes.emplace_back("±: standard error over the seeds.");
  if (!file.axes.empty() && file.axes[file.compared].values.size() > 1) {
    notes.push_back("difference: to " + file.axes[file.compared].label(file.baseline) + " in " +
                    measure_name(file.measure) + ", seed by seed, mean" + (several ? " and its standard error." : "."));
  }
  if (file.measure != SweepMeasure::kReward ||
      std::ranges::any_of(results.rows, [](const ResultRow& row) { return !std::isnan(row.reward.mean); }))
    notes.emplace_back("reward: of the training responses, mean over the last tenth of the steps.");
  notes.emplace_back(
      "time/run: training alone; fwd, bwd: evaluations of the model a response; peak MiB: the largest run.");
  std::size_t missing = 0;
  for (const RunRecord& record : results.records) missing += record.status == RunStatus::kFinished ? 0 : 1;
  if (missing > 0)
    notes.push_back(std::to_string(missing) + " of " + std::to_string(results.records.size()) + " runs " +
                    (missing == 1 ? "is" : "are") + " not finished: runs.csv says which.");
  return notes;
}

TextTable result_numbers(const SweepResults& results) {
  const std::vector<ResultRow>& rows = results.rows;
  TableMaker maker(rows.size());
  add_axes(results, maker, [&](std::size_t at) -> const ResultRow& { return rows[at]; });
  const auto integer = [&](const char* title, const std::function<int(const ResultRow&)>& value) {
    maker.add(
        title, true, [&](std::size_t at) { return std::to_string(value(rows[at])); }, true);
  };
  const auto number = [&](const std::string& title, const std::function<double(const ResultRow&)>& value) {
    maker.add(
        title, true, [&](std::size_t at) { return exact(value(rows[at])); }, true);
  };
  std::string measure = measure_name(results.plan->file.measure);
  std::ranges::replace(measure, ' ', '_');
  std::ranges::replace(measure, '-', '_');
  if (!measure_unit(results.plan->file.measure).empty()) measure += "_percent";
  integer("runs", [](const ResultRow& row) { return row.finished; });
  integer("seeds", [](const ResultRow& row) { return row.wanted; });
  number(measure, [](const ResultRow& row) { return row.measure.mean; });
  number(measure + "_standard_error", [](const ResultRow& row) { return row.measure.error; });
  number("difference", [](const ResultRow& row) { return row.difference.mean; });
  number("difference_standard_error", [](const ResultRow& row) { return row.difference.error; });
  integer("difference_pairs", [](const ResultRow& row) { return row.difference.count; });
  number("training_reward", [](const ResultRow& row) { return row.reward.mean; });
  number("training_reward_standard_error", [](const ResultRow& row) { return row.reward.error; });
  number("seconds_per_step", [](const ResultRow& row) { return row.seconds_per_step; });
  number("seconds_per_run", [](const ResultRow& row) { return row.seconds; });
  number("rollout_forwards_per_response", [](const ResultRow& row) { return row.rollout_forwards; });
  number("update_forwards_per_response", [](const ResultRow& row) { return row.update_forwards; });
  number("update_backwards_per_response", [](const ResultRow& row) { return row.update_backwards; });
  number("peak_memory_mib", [](const ResultRow& row) { return row.peak_memory_mib; });
  return maker.take();
}

TextTable run_numbers(const SweepResults& results, const std::filesystem::path& runs) {
  struct Line {
    std::size_t cell;
    SeedRun seed;
  };
  std::vector<Line> lines;
  for (std::size_t cell = 0; cell < results.rows.size(); ++cell) {
    for (const SeedRun& seed : results.plan->seeds[cell]) lines.push_back({cell, seed});
  }
  const auto record = [&](std::size_t at) -> const RunRecord& { return results.records[lines[at].seed.run]; };
  TableMaker maker(lines.size());
  add_axes(results, maker, [&](std::size_t at) -> const ResultRow& { return results.rows[lines[at].cell]; });
  const auto text = [&](const char* title, const std::function<std::string(std::size_t)>& value) {
    maker.add(title, false, value, true);
  };
  const auto number = [&](const char* title, double RunRecord::*value) {
    maker.add(
        title, true, [&, value](std::size_t at) { return exact(record(at).*value); }, true);
  };
  text("seed", [&](std::size_t at) { return std::to_string(lines[at].seed.seed); });
  text("folder", [&](std::size_t at) { return (runs / results.plan->runs[lines[at].seed.run].key).string(); });
  text("status", [&](std::size_t at) { return status_name(record(at).status); });
  text("problem", [&](std::size_t at) { return record(at).problem; });
  text("step", [&](std::size_t at) { return std::to_string(record(at).step); });
  text("steps", [&](std::size_t at) { return std::to_string(results.plan->runs[lines[at].seed.run].steps); });
  number("held_out_accuracy", &RunRecord::held_out);
  number("training_reward", &RunRecord::reward);
  number("training_solved", &RunRecord::solved);
  number("seconds", &RunRecord::seconds);
  number("seconds_per_step", &RunRecord::seconds_per_step);
  number("rollout_forwards_per_response", &RunRecord::rollout_forwards);
  number("update_forwards_per_response", &RunRecord::update_forwards);
  number("update_backwards_per_response", &RunRecord::update_backwards);
  number("peak_memory_mib", &RunRecord::peak_memory_mib);
  text("threads", [&](std::size_t at) { return record(at).threads > 0 ? std::to_string(record(at).threads) : ""; });
  text("drift", [&](std::size_t at) { return record(at).version; });
  return maker.take();
}

}  // namespace drift
