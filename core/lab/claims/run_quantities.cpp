#include <core/lab/claims/run_quantities.h>

#include <core/config/nearest.h>

#include <drift/error.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace drift {
namespace {

constexpr std::string_view kLargest = "largest ", kFall = "fall of ";

std::vector<double> values_of(const RunRecord& run, std::string_view metric) {
  std::vector<double> values;
  for (const StepRecord& step : run.metrics) values.push_back(step.value(metric));
  return values;
}

double largest(const std::vector<double>& values) {
  double found = kUnknown;
  for (const double value : values) found = std::fmax(found, value);
  return found;
}

/// Mean of each window of a tenth of the values, at least one.
double largest_mean_of_a_tenth(const std::vector<double>& values) {
  const std::size_t window = std::max<std::size_t>(1, values.size() / 10);
  std::vector<double> means;
  for (std::size_t begin = 0; begin + window <= values.size(); ++begin) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    means.push_back(estimate({first, first + static_cast<std::ptrdiff_t>(window)}).mean);
  }
  return largest(means);
}

double quantity_of(const RunRecord& run, const std::string& quantity) {
  if (run.status != RunStatus::kFinished) return kUnknown;
  for (const RunNumber& number : kRunNumbers) {
    if (quantity == number.name) return run.*number.value;
  }
  if (quantity.starts_with(kLargest)) return largest(values_of(run, quantity.substr(kLargest.size())));
  const auto values = values_of(run, quantity.substr(kFall.size()));
  return largest_mean_of_a_tenth(values) - mean_of_last_tenth(values);
}

/// The runs of each value of the compared axis, by the other axes and the seed.
using RunsOfLine = std::map<std::pair<std::string, std::int64_t>, const RunRecord*>;

std::vector<std::pair<std::string, RunsOfLine>> runs_by_line(const SweepResults& results) {
  std::vector<std::pair<std::string, RunsOfLine>> lines;
  for (std::size_t cell = 0; cell < results.rows.size(); ++cell) {
    const ResultRow& row = results.rows[cell];
    auto line = std::ranges::find(lines, row.line.label, &std::pair<std::string, RunsOfLine>::first);
    if (line == lines.end()) line = lines.insert(line, {row.line.label, {}});
    for (const SeedRun& seed : results.plan->seeds[cell])
      line->second[{row.group, seed.seed}] = &results.records[seed.run];
  }
  return lines;
}

void check_lines(const Claim& claim, const std::vector<std::pair<std::string, RunsOfLine>>& lines) {
  std::vector<std::string> names, asked = claim.lines;
  for (const auto& [name, runs] : lines) names.push_back(name);
  for (const Expectation& expect : claim.expect) asked.insert(asked.end(), {expect.more, expect.less, expect.setting});
  for (const std::string& name : asked) {
    if (name.empty() || std::ranges::count(names, name) > 0) continue;
    throw Error("claim `" + claim.name + "`: the sweep " + claim.sweep.string() + " compares no `" + name + "`",
                name_hint(name, names, "values"));
  }
}

}  // namespace

std::string run_quantity_doc(const std::string& quantity) {
  for (const RunNumber& number : kRunNumbers) {
    if (quantity == number.name) return "of a run, as in runs.csv";
  }
  if (quantity.starts_with(kLargest)) return "over the steps of a run";
  if (quantity.starts_with(kFall)) return "from its largest mean over a tenth of the steps to that of the last tenth";
  return {};
}

void fill_from_runs(ClaimResult& result, const SweepResults& results) {
  auto lines = runs_by_line(results);
  check_lines(result.claim, lines);
  if (!result.claim.lines.empty()) {
    std::erase_if(lines, [&](const auto& line) { return std::ranges::count(result.claim.lines, line.first) == 0; });
  }
  std::size_t missing = 0, all = 0;
  for (const auto& [name, runs] : lines) {
    for (const std::string& quantity : result.claim.quantities) {
      MeasuredQuantity measured{name, quantity, {}};
      for (const auto& [key, run] : runs) measured.values.push_back(quantity_of(*run, quantity));
      result.measured.push_back(std::move(measured));
    }
    all += runs.size();
    for (const auto& [key, run] : runs) missing += run->status == RunStatus::kFinished ? 0 : 1;
  }
  if (missing > 0) {
    result.reason = std::to_string(missing) + " of " + std::to_string(all) + " runs are not finished: drift sweep " +
                    result.claim.sweep.string();
  }
}

}  // namespace drift
