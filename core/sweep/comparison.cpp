#include <core/sweep/comparison.h>

#include <core/config/nearest.h>

#include <drift/error.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

bool is_measured(const std::vector<RunLine>& lines, const SweepMeasure& measure) {
  return std::ranges::any_of(lines, [&](const RunLine& line) {
    return std::ranges::any_of(line.runs, [&](const ComparedRun& run) { return !std::isnan(measure.of(run.record)); });
  });
}

SweepMeasure choose_measure(const std::vector<RunLine>& lines, const std::string& key) {
  std::vector<std::string> keys;
  for (const SweepMeasure& measure : kSweepMeasures) {
    if (key.empty() ? is_measured(lines, measure) : measure.key == key) return measure;
    keys.emplace_back(measure.key);
  }
  if (key.empty()) return kSweepMeasures[0];
  throw Error("there is no measure `" + key + "`", name_hint(key, keys, "measures"));
}

/// Of the label; where it is empty, the first.
std::size_t line_called(const std::vector<RunLine>& lines, const std::string& label) {
  if (label.empty()) return 0;
  const auto found = std::ranges::find(lines, label, &RunLine::label);
  if (found != lines.end()) return static_cast<std::size_t>(found - lines.begin());
  std::vector<std::string> labels;
  for (const RunLine& line : lines) labels.push_back(line.label);
  throw Error("no line is called `" + label + "`", name_hint(label, labels, "lines"));
}

/// @param label  of the baseline that was asked for; empty: each line's own
std::vector<LineDifference> differences_of(const RunComparison& comparison, const std::string& label) {
  const std::vector<RunLine>& lines = comparison.lines;
  std::vector<LineDifference> differences;
  std::vector<double> p;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    const std::size_t baseline = line_called(lines, label.empty() ? lines[line].baseline : label);
    if (line == baseline) continue;
    const Estimate mean = lines[line].difference_to(lines[baseline], comparison.measure);
    differences.push_back({line, baseline, mean, student_half_width(mean), t_test(mean), kUnknown});
    p.push_back(differences.back().test.p);
  }
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i].corrected_p = corrected[i];
  return differences;
}

}  // namespace

std::string RunComparison::baseline() const {
  if (differences.empty()) return lines.front().label;
  const std::size_t first = differences.front().baseline;
  const bool is_one = std::ranges::all_of(differences, [&](const auto& one) { return one.baseline == first; });
  return is_one ? lines[first].label : "the baseline of each";
}

RunComparison compare_lines(std::vector<RunLine> lines, const ComparisonRequest& request) {
  RunComparison comparison;
  comparison.measure = choose_measure(lines, request.measure);
  line_called(lines, request.baseline);  // a wrong name is an error where there is one line, too
  comparison.band = request.band;
  comparison.lines = std::move(lines);
  comparison.differences = differences_of(comparison, request.baseline);
  return comparison;
}

}  // namespace drift
