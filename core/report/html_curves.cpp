#include <core/base/limits.h>
#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html_parts.h>

#include <core/report/html.h>
#include <core/report/profile.h>
#include <core/report/step_quantities.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;
using Steps = std::vector<StepRecord>;

/// Of one phase; unknown where the step has none of that name.
double seconds_of(const StepRecord& step, const std::string& phase) {
  if (!step.seconds) return kUnknown;
  for (const PhaseSeconds& one : step.seconds->phases()) {
    if (one.name == phase) return one.seconds;
  }
  return kUnknown;
}

Chart rewards(const Steps& steps) {
  Chart chart = metric_chart(steps, "reward");
  chart.unit = "mean of the step's responses";
  chart.minimum = 0;
  chart.maximum = 1;
  const std::vector<double> solved = values_of(steps, "solved");
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  if (std::ranges::equal(chart.series[0].y, solved, same)) {
    chart.note = "rewards are 0 or 1, so this is also the share solved";
  } else {
    chart.series.push_back({.name = "solved", .y = solved});
  }
  for (const auto& [label, value] : steps.back().reward_parts)
    chart.series.push_back({.name = "reward: " + label, .y = values_of(steps, "reward." + label)});
  return chart;
}

/// With the evaluation before the first step, which runs from before step 0 have in their summary alone.
Chart held_out(const Steps& steps, const Json& summary) {
  Chart chart{.title = "Held-out accuracy", .unit = "%, with standard error", .points = true};
  Series series{.name = "accuracy"};
  const auto point = [&](double step, double accuracy, double error) {
    chart.x.push_back(step);
    series.y.push_back(100 * accuracy);
    series.low.push_back(100 * (accuracy - error));
    series.high.push_back(100 * (accuracy + error));
  };
  const Json before = summary.value("held_out", Json::object());
  if (steps.front().step > 0 && !std::isnan(json_number(before, "before")))
    point(0, json_number(before, "before"), json_number(before, "before_standard_error"));
  for (const StepRecord& step : steps) {
    if (step.held_out) point(static_cast<double>(step.step), step.held_out->accuracy, step.held_out->standard_error);
  }
  chart.series = {std::move(series)};
  return chart;
}

/// What losses and other components report under names of their own; of very many the first, in alphabetical order.
std::set<std::string> own_metrics(const Steps& steps) {
  std::set<std::string> names;
  for (const StepRecord& step : steps) {
    for (const auto& [name, value] : step.loss_metrics) names.insert("loss/" + name);
    for (const auto& [name, value] : step.plugin_metrics) names.insert(name);
  }
  for (const StepQuantity& known : kStepQuantities) names.erase(known.metric);
  return names;
}

Chart live_groups(const Steps& steps) {
  Chart chart = metric_chart(steps, "live_groups");
  std::int64_t groups = 0;
  for (const StepRecord& step : steps) groups = std::max(groups, step.groups);
  if (groups > 0) chart.maximum = static_cast<double>(groups);
  const auto skipped = std::ranges::count_if(steps, &StepRecord::skipped);
  if (skipped > 0) chart.note = count_of(skipped, "step") + " without an optimizer step";
  return chart;
}

/// Where the gap is more than rounding: it, and what corrects it.
std::vector<Chart> rollout_gap(const Steps& steps) {
  constexpr double kRounding = 1e-3;
  if (std::ranges::none_of(steps, [](const StepRecord& step) { return step.rollout_gap_max > kRounding; })) return {};
  Chart gap = metric_chart(steps, "rollout_gap"), weight = metric_chart(steps, "rollout_weight");
  gap.title = "Rollout gap";
  gap.unit = "nats, between log-probabilities when committed and as scored";
  gap.minimum = 0;
  weight.title = "Weight of the rollout correction";
  return {std::move(gap), std::move(weight)};
}

Chart phases(const Steps& steps) {
  Chart chart = metric_chart(steps, "seconds");
  chart.stacked = true;
  std::vector<Series> parts;
  for (const PhaseShare& share : phase_shares(steps)) {
    if (share.mean_seconds <= 0) continue;
    Series& part = parts.emplace_back(Series{.name = phase_name(share.name)});
    for (const StepRecord& step : steps) part.y.push_back(seconds_of(step, share.name));
  }
  if (!parts.empty()) chart.series = std::move(parts);
  return chart;
}

}  // namespace

std::string html_curves(const Steps& steps, const Json& summary, const std::vector<Alarm>& alarms) {
  if (steps.empty()) return {};
  std::vector<Chart> charts = {rewards(steps), held_out(steps, summary)};
  for (const StepQuantity& one : kStepQuantities) {
    if (one.of_a_run) charts.push_back(metric_chart(steps, one.metric));
  }
  for (const std::string& name : own_metrics(steps) | std::views::take(kMostOwnMetrics))
    charts.push_back(metric_chart(steps, name));
  charts.push_back(live_groups(steps));
  for (Chart& chart : rollout_gap(steps)) charts.push_back(std::move(chart));
  charts.push_back(phases(steps));
  std::string html;
  for (Chart& chart : charts) {
    for (const Alarm& alarm : alarms) {
      if (std::ranges::count(chart.series, spoken_name(alarm.doc->metric), &Series::name) > 0)
        chart.marks.push_back(static_cast<double>(alarm.step));
    }
    html += svg_chart(chart);
  }
  return html;
}

}  // namespace drift
