#include <core/sweep/comparison_tables.h>

#include <core/config/nearest.h>
#include <core/report/column_table.h>
#include <core/report/format.h>
#include <core/sweep/sweep_table.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace drift {
namespace {

Estimate steps(const RunLine& line) {
  return line.over_finished([](const ComparedRun& run) { return static_cast<double>(run.record.step); });
}

Estimate cost(const RunLine& line, double RunCost::*value) {
  return line.over_finished(
      [=](const ComparedRun& run) { return run.costs.empty() ? kUnknown : run.costs.back().*value; });
}

/// "3", "2/3" where one is not finished.
std::string run_count(const RunLine& line) {
  const std::string all = "/" + std::to_string(line.runs.size());
  return std::to_string(line.finished()) + (line.finished() < std::ssize(line.runs) ? all : "");
}

/// The mean over the finished runs as a text.
auto mean_text(double RunNumbers::*value, std::string (*text)(double)) {
  return [=](const RunLine& line) { return known_text(line.over_finished(value).mean, text); };
}
auto mean_text(double RunCost::*value, std::string (*text)(double)) {
  return [=](const RunLine& line) { return known_text(cost(line, value).mean, text); };
}

std::string interval_text(const LineDifference& difference, int digits) {
  if (std::isnan(difference.half_interval)) return "";
  return "[" + format_decimal(difference.mean.mean - difference.half_interval, digits) + ", " +
         format_decimal(difference.mean.mean + difference.half_interval, digits) + "]";
}

bool has_differences(const RunComparison& comparison) {
  return std::ranges::any_of(comparison.differences, [](const LineDifference& one) { return one.mean.count > 0; });
}

/// Settings of the problems in which lines that are compared differ.
std::set<std::string> different_problems(const RunComparison& comparison) {
  std::set<std::string> keys;
  for (const LineDifference& one : comparison.differences) {
    const auto &line = comparison.lines[one.line].runs.front().settings,
               &baseline = comparison.lines[one.baseline].runs.front().settings;
    for (const auto* settings : {&line, &baseline}) {
      for (const auto& [key, value] : *settings) {
        const bool decides =
            key.starts_with("task.") || key == "evaluation.items" || key == "evaluation.validation_items";
        if (decides && (!line.contains(key) || !baseline.contains(key) || line.at(key) != baseline.at(key)))
          keys.insert(key);
      }
    }
  }
  if (keys.contains("task.name")) keys = {"task.name"};  // its parameters follow from it
  return keys;
}

std::string sentence_of_tests(const RunComparison& comparison) {
  const auto tested =
      std::ranges::count_if(comparison.differences, [](const LineDifference& one) { return !std::isnan(one.test.p); });
  if (tested == 0) return "p: none; a paired t-test takes two seeds that both lines have, and differences that vary.";
  return "p: two-sided paired t-test over the seeds that both lines have; Holm: corrected over the " +
         count_of(tested, "comparison") + ". Below 0.05 it stands out. Intervals are not corrected.";
}

}  // namespace

TextTable line_table(const RunComparison& comparison) {
  ColumnTable table(comparison.lines);
  table.text("line", &RunLine::label).number("runs", run_count);
  for (const SweepMeasure& measure : kSweepMeasures)
    table.known_number(measure.title(),
                       [&](const RunLine& line) { return estimate_text(line.over_finished(measure), measure.digits); });
  table.known_number("steps", [](const RunLine& line) { return known_text(steps(line).mean, format_count); });
  table.known_number("rollout fwd", mean_text(&RunNumbers::rollout_forwards, evaluations_text));
  table.known_number("update fwd", mean_text(&RunNumbers::update_forwards, evaluations_text));
  table.known_number("forwards/run", mean_text(&RunCost::forwards, format_count));
  table.known_number("time/run", mean_text(&RunCost::seconds, format_run_time));
  return table.table();
}

TextTable line_numbers(const RunComparison& comparison) {
  ColumnTable table(comparison.lines);
  table.text("line", &RunLine::label);
  table.number("runs", &RunLine::finished);
  table.number("runs_begun", [](const RunLine& line) { return static_cast<std::int64_t>(line.runs.size()); });
  const auto add = [&](const std::string& name, const auto& value) {
    table.number(name, [=](const RunLine& line) { return value(line).mean; });
    table.number(name + "_standard_error", [=](const RunLine& line) { return value(line).error; });
  };
  for (const SweepMeasure& measure : kSweepMeasures)
    add(measure.column(), [&measure](const RunLine& line) { return line.over_finished(measure); });
  table.number("steps", [](const RunLine& line) { return steps(line).mean; });
  const auto mean = [&](const char* name, double RunNumbers::*value) {
    table.number(name, [=](const RunLine& line) { return line.over_finished(value).mean; });
  };
  mean("rollout_forwards_per_response", &RunNumbers::rollout_forwards);
  mean("update_forwards_per_response", &RunNumbers::update_forwards);
  mean("update_backwards_per_response", &RunNumbers::update_backwards);
  add("forwards_per_run", [](const RunLine& line) { return cost(line, &RunCost::forwards); });
  add("seconds_per_run", [](const RunLine& line) { return cost(line, &RunCost::seconds); });
  mean("peak_memory_mib", &RunNumbers::peak_memory_mib);
  return table.table();
}

TextTable difference_table(const RunComparison& comparison) {
  const int digits = comparison.measure.digits;
  const std::vector<LineDifference> none;
  ColumnTable columns(has_differences(comparison) ? comparison.differences : none);
  columns.text("line", [&](const LineDifference& one) { return comparison.lines[one.line].label; });
  if (std::ranges::count(comparison.lines, comparison.baseline(), &RunLine::label) == 0)
    columns.text("to", [&](const LineDifference& one) { return comparison.lines[one.baseline].label; });
  columns.number("pairs", [](const LineDifference& one) { return one.mean.count; });
  columns.number("difference", [&](const LineDifference& one) { return estimate_text(one.mean, digits, true); });
  columns.number("95 % interval", [&](const LineDifference& one) { return interval_text(one, digits); });
  columns.number("t", [](const LineDifference& one) { return format_decimal(one.test.t, 2); });
  columns.number("p", [](const LineDifference& one) { return format_p(one.test.p); });
  columns.number("p (Holm)", [](const LineDifference& one) { return format_p(one.corrected_p); });
  TextTable table = columns.table();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (comparison.differences[row].corrected_p < 0.05) table.emphasised.insert({row, table.titles.size() - 1});
  }
  return table;
}

TextTable difference_numbers(const RunComparison& comparison) {
  ColumnTable table(comparison.differences);
  table.text("line", [&](const LineDifference& one) { return comparison.lines[one.line].label; });
  table.text("baseline", [&](const LineDifference& one) { return comparison.lines[one.baseline].label; });
  table.text("measure", [&](const LineDifference&) { return comparison.measure.column(); });
  table.number("pairs", [](const LineDifference& one) { return one.mean.count; });
  table.number("difference", [](const LineDifference& one) { return one.mean.mean; });
  table.number("standard_error", [](const LineDifference& one) { return one.mean.error; });
  table.number("low_95", [](const LineDifference& one) { return one.mean.mean - one.half_interval; });
  table.number("high_95", [](const LineDifference& one) { return one.mean.mean + one.half_interval; });
  table.number("t", [](const LineDifference& one) { return one.test.t; });
  table.number("p", [](const LineDifference& one) { return one.test.p; });
  table.number("p_holm", &LineDifference::corrected_p);
  return table.table();
}

TextTable compared_runs(const RunComparison& comparison) {
  struct Row {
    const RunLine* line;
    const ComparedRun* run;
  };
  std::vector<Row> rows;
  for (const RunLine& line : comparison.lines) {
    for (const ComparedRun& run : line.runs) rows.push_back({&line, &run});
  }
  ColumnTable table(rows);
  table.text("line", [](const Row& row) { return row.line->label; });
  table.number("seed", [](const Row& row) { return row.run->seed; });
  table.text("folder", [](const Row& row) { return row.run->folder.string(); });
  table.text("status", [](const Row& row) { return status_name(row.run->record.status); });
  table.text("problem", [](const Row& row) { return row.run->record.problem; });
  table.number("step", [](const Row& row) { return row.run->record.step; });
  for (const RunNumber& value : kRunNumbers)
    table.number(value.name, [&](const Row& row) { return row.run->record.*value.value; });
  return table.table();
}

std::vector<std::string> comparison_notes(const RunComparison& comparison) {
  std::vector<std::string> notes;
  if (const std::set<std::string> keys = different_problems(comparison); !keys.empty())
    notes.push_back("These runs have different problems (" + joined({keys.begin(), keys.end()}) +
                    "): their accuracies and rewards are of different items, and differences between them say "
                    "nothing of the methods.");
  const bool several = std::ranges::any_of(comparison.lines, [](const RunLine& line) { return line.runs.size() > 1; });
  if (several) notes.emplace_back("±: standard error over the seeds.");
  if (has_differences(comparison)) {
    notes.push_back("difference: to " + comparison.baseline() + " in " + comparison.measure.name +
                    (*comparison.measure.unit == '%' ? ", in points" : "") + ", seed by seed.");
    notes.push_back(sentence_of_tests(comparison));
  }
  notes.emplace_back(
      "reward, solved: of the training responses, mean over the last tenth of the steps; fwd: sequences through the "
      "model a response; forwards/run: in rollout and update together; time/run: without evaluations.");
  std::size_t runs = 0, missing = 0;
  for (const RunLine& line : comparison.lines) {
    runs += line.runs.size();
    missing += line.runs.size() - static_cast<std::size_t>(line.finished());
  }
  if (missing > 0)
    notes.push_back(missing_runs(missing, runs) + ": in the curves as far as " +
                    (missing == 1 ? "it goes" : "they go") + ", not in the tables.");
  return notes;
}

}  // namespace drift
