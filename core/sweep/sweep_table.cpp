#include <core/sweep/sweep_table.h>

#include <core/report/column_table.h>
#include <core/report/format.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

std::string whole(double value) { return format_decimal(value, 0); }

/// One of the numbers of a row.
auto mean_of_row(double RunNumbers::*number, std::string (*text)(double)) {
  return [=](const ResultRow& row) { return known_text(row.mean.*number, text); };
}

/// The axes, or the sweep's name where there are none. @param result  the row that a row of the table belongs to
template <class Row, class Result>
void add_axes(const SweepFile& file, ColumnTable<Row>& table, const Result& result) {
  for (std::size_t axis = 0; axis < file.axes.size(); ++axis)
    table.text(file.axes[axis].name, [&](const Row& row) { return result(row).values[axis]; });
  if (file.axes.empty()) table.text("sweep", [&](const Row&) { return file.name; });
}

/// On which items a row of the table is chosen.
std::string sentence_of_choice(const SweepResults& results) {
  const bool is_apart =
      std::ranges::any_of(results.rows, [](const auto& row) { return !std::isnan(row.validation.mean); });
  return is_apart ? "validation: accuracy on items that no other number counts; best: what to choose by it."
                  : "Whoever chooses a row by this table chooses it on the items that the table reports: "
                    "evaluation.validation_items keeps others for that.";
}

const ResultRow& itself(const ResultRow& row) { return row; }

}  // namespace

std::string estimate_text(const Estimate& value, int digits, bool sign) {
  if (std::isnan(value.mean)) return "";
  const std::string mean = (sign && value.mean > 0 ? "+" : "") + format_decimal(value.mean, digits);
  return std::isnan(value.error) ? mean : mean + " ± " + format_decimal(value.error, digits);
}

std::string known_text(double value, std::string (*text)(double)) { return std::isnan(value) ? "" : text(value); }

std::string evaluations_text(double value) { return format_decimal(value, value < 10 ? 2 : 1); }

std::string missing_runs(std::size_t missing, std::size_t runs) {
  if (missing == 0) return {};
  return std::to_string(missing) + " of " + std::to_string(runs) + " runs " + (missing == 1 ? "is" : "are") +
         " not finished";
}

TextTable result_table(const SweepResults& results) {
  const SweepMeasure& measure = results.plan->file.measure;
  ColumnTable table(results.rows);
  add_axes(results.plan->file, table, itself);
  table.number("runs", [](const ResultRow& row) {
    return std::to_string(row.finished) + (row.finished < row.wanted ? "/" + std::to_string(row.wanted) : "");
  });
  table.known_number(measure.title(), [&](const ResultRow& row) { return estimate_text(row.measure, measure.digits); });
  table.known_number("difference", [&](const ResultRow& row) {
    const std::string text = estimate_text(row.difference, measure.digits, true);
    // Fewer pairs than runs: some seeds are missing on the other side.
    return text.empty() || row.difference.count == row.finished
               ? text
               : text + " (n=" + std::to_string(row.difference.count) + ")";
  });
  table.known_number("p (Holm)", [](const ResultRow& row) { return known_text(row.corrected_p, format_p); });
  table.known_number("validation %", [](const ResultRow& row) {
    const Estimate percent{100 * row.validation.mean, 100 * row.validation.error, row.validation.count};
    return estimate_text(percent, 1) + (row.is_chosen ? " best" : "");
  });
  if (measure.value != &RunNumbers::reward)
    table.known_number("reward", [](const ResultRow& row) { return estimate_text(row.reward, 3); });
  table.known_number("s/step", mean_of_row(&RunNumbers::seconds_per_step, format_adaptive));
  table.known_number("time/run", mean_of_row(&RunNumbers::seconds, format_run_time));
  table.known_number("rollout fwd", mean_of_row(&RunNumbers::rollout_forwards, evaluations_text));
  table.known_number("update fwd", mean_of_row(&RunNumbers::update_forwards, evaluations_text));
  table.known_number("update bwd", mean_of_row(&RunNumbers::update_backwards, evaluations_text));
  table.known_number("peak MiB", mean_of_row(&RunNumbers::peak_memory_mib, whole));
  return table.table();
}

TextTable settings_table(const SweepResults& results) {
  TextTable table{{"cell", "settings that differ"}, {false, false}, {}};
  for (std::size_t row = 0; row < results.rows.size(); ++row) {
    if (!results.rows[row].settings.empty())
      table.rows.push_back({results.plan->cells[row].label, results.rows[row].settings});
  }
  return table.rows.empty() ? TextTable() : table;
}

std::vector<std::string> result_notes(const SweepResults& results) {
  const SweepFile& file = results.plan->file;
  std::vector<std::string> notes;
  const bool several = std::ranges::any_of(results.rows, [](const ResultRow& row) { return row.wanted > 1; });
  if (several) notes.emplace_back("±: standard error over the seeds.");
  if (!file.axes.empty() && file.axes[file.compared].values.size() > 1) {
    notes.push_back("difference: to " + file.axes[file.compared].label(file.baseline) + " in " + file.measure.name +
                    ", seed by seed, mean" + (several ? " and its standard error." : "."));
    const auto tested =
        std::ranges::count_if(results.rows, [](const ResultRow& row) { return !std::isnan(row.corrected_p); });
    if (tested > 0)
      notes.push_back("p: two-sided paired t-test over the seeds; Holm: corrected over the " +
                      count_of(tested, "difference") + " of this table.");
    if (file.measure.value == &RunNumbers::held_out) notes.push_back(sentence_of_choice(results));
  }
  if (file.measure.value != &RunNumbers::reward ||
      std::ranges::any_of(results.rows, [](const ResultRow& row) { return !std::isnan(row.reward.mean); }))
    notes.emplace_back("reward: of the training responses, mean over the last tenth of the steps.");
  notes.emplace_back(
      "time/run: training alone; fwd, bwd: evaluations of the model a response; peak MiB: the largest run.");
  std::size_t missing = 0;
  for (const RunRecord& record : results.records) missing += record.status == RunStatus::kFinished ? 0 : 1;
  if (missing > 0) notes.push_back(missing_runs(missing, results.records.size()) + ": runs.csv says which.");
  return notes;
}

TextTable result_numbers(const SweepResults& results) {
  ColumnTable table(results.rows);
  add_axes(results.plan->file, table, itself);
  table.number("runs", &ResultRow::finished).number("seeds", &ResultRow::wanted);
  const auto estimates = [&](const std::string& name, Estimate ResultRow::*value) {
    table.number(name, [=](const ResultRow& row) { return (row.*value).mean; });
    table.number(name + "_standard_error", [=](const ResultRow& row) { return (row.*value).error; });
  };
  estimates(results.plan->file.measure.column(), &ResultRow::measure);
  estimates("difference", &ResultRow::difference);
  table.number("difference_pairs", [](const ResultRow& row) { return row.difference.count; });
  table.number("p_holm", &ResultRow::corrected_p);
  table.number("validation_accuracy", [](const ResultRow& row) { return row.validation.mean; });
  estimates("training_reward", &ResultRow::reward);
  const auto mean = [&](const char* name, double RunNumbers::*number) {
    table.number(name, [=](const ResultRow& row) { return row.mean.*number; });
  };
  mean("seconds_per_step", &RunNumbers::seconds_per_step);
  mean("seconds_per_run", &RunNumbers::seconds);
  mean("rollout_forwards_per_response", &RunNumbers::rollout_forwards);
  mean("update_forwards_per_response", &RunNumbers::update_forwards);
  mean("update_backwards_per_response", &RunNumbers::update_backwards);
  mean("rollout_gap", &RunNumbers::rollout_gap);
  mean("peak_memory_mib", &RunNumbers::peak_memory_mib);
  table.text("settings", &ResultRow::settings);
  return table.table();
}

TextTable run_numbers(const SweepResults& results, const std::filesystem::path& runs) {
  struct Line {
    const ResultRow* row;
    std::int64_t seed;
    const SweepRun* run;
    const RunRecord* record;
  };
  const SweepPlan& plan = *results.plan;
  std::vector<Line> lines;
  for (std::size_t cell = 0; cell < results.rows.size(); ++cell) {
    for (const SeedRun& seed : plan.seeds[cell])
      lines.push_back({&results.rows[cell], seed.seed, &plan.runs[seed.run], &results.records[seed.run]});
  }
  ColumnTable table(lines);
  add_axes(plan.file, table, [](const Line& line) -> const ResultRow& { return *line.row; });
  table.number("seed", &Line::seed);
  table.text("folder", [&](const Line& line) { return (runs / line.run->key).string(); });
  table.text("status", [](const Line& line) { return status_name(line.record->status); });
  table.text("problem", [](const Line& line) { return line.record->problem; });
  table.number("step", [](const Line& line) { return line.record->step; });
  table.number("steps", [](const Line& line) { return line.run->steps; });
  for (const RunNumber& number : kRunNumbers)
    table.number(number.name, [&](const Line& line) { return line.record->*number.value; });
  table.number("threads",
               [](const Line& line) { return line.record->threads > 0 ? std::to_string(line.record->threads) : ""; });
  table.text("drift", [](const Line& line) { return line.record->version; });
  return table.table();
}

}  // namespace drift
