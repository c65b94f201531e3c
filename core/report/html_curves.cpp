#include <core/base/limits.h>
#include <core/io/json.h>
#include <core/report/html_parts.h>

#include <core/report/html.h>
#include <core/report/profile.h>
#include <core/report/step_quantities.h>
#include <core/report/svg_chart.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

/// Of one phase; unknown where the step has none of that name.
double seconds_of(const StepRecord& step, const std::string& phase) {
  if (!step.seconds) return kUnknown;
  for (const PhaseSeconds& one : step.seconds->phases()) {
    if (one.name == phase) return one.seconds;
  }
  return kUnknown;
}

class Curves {
 public:
  Curves(const std::vector<StepRecord>& steps, const Json& summary, const std::vector<Alarm>& alarms)
      : metrics_(steps), summary_(summary), alarms_(alarms) {
    for (const StepRecord& step : steps) steps_.push_back(static_cast<double>(step.step));
  }

  std::string html() {
    if (metrics_.empty()) return {};
    rewards();
    held_out();
    for (const StepQuantity& one : kStepQuantities) {
      if (!one.of_a_run) continue;
      Chart chart{.title = one.title, .unit = one.unit, .series = {of(one.metric)}, .noisy = one.noisy};
      if (one.from_zero) chart.minimum = 0;
      if (one.most > 0) chart.maximum = one.most;
      add(std::move(chart));
    }
    own_metrics();
    live_groups();
    rollout_gap();
    phases();
    add({.title = "Learning rate", .series = {of("learning_rate")}, .minimum = 0});
    return html_;
  }

 private:
  Series of(const std::string& name) const {
    Series series{spoken_name(name), {}, {}};
    for (const StepRecord& step : metrics_) series.y.push_back(step.value(name));
    return series;
  }

  void add(Chart chart) {
    if (chart.x.empty()) chart.x = steps_;
    for (const Alarm& alarm : alarms_) {
      if (std::ranges::count(chart.series, spoken_name(alarm.doc->metric), &Series::name) > 0)
        chart.marks.push_back(static_cast<double>(alarm.step));
    }
    html_ += svg_chart(chart);
  }

  void rewards() {
    Chart chart{.title = "Reward",
                .unit = "mean of the step's responses",
                .series = {of("reward"), of("solved")},
                .minimum = 0,
                .maximum = 1,
                .noisy = true};
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    if (std::equal(chart.series[0].y.begin(), chart.series[0].y.end(), chart.series[1].y.begin(), same)) {
      chart.series.pop_back();
      chart.note = "rewards are 0 or 1, so this is also the share solved";
    }
    for (const auto& [label, value] : metrics_.back().reward_parts) {
      chart.series.push_back(of("reward." + label));
      chart.series.back().name = "reward: " + label;
    }
    add(std::move(chart));
  }

  void held_out() {
    Chart chart{.title = "Held-out accuracy", .unit = "%, with standard error", .points = true};
    Series series{"accuracy", {}, {}};
    const auto point = [&](double step, double accuracy, double error) {
      chart.x.push_back(step);
      series.y.push_back(100 * accuracy);
      series.error.push_back(100 * error);
    };
    const Json summary = summary_.value("held_out", Json::object());
    if (metrics_.front().step > 0 && !std::isnan(json_number(summary, "before"))) {
      point(0, json_number(summary, "before"), json_number(summary, "before_standard_error"));
    }
    for (const StepRecord& step : metrics_) {
      if (step.held_out) point(static_cast<double>(step.step), step.held_out->accuracy, step.held_out->standard_error);
    }
    if (chart.x.empty()) return;
    chart.series = {std::move(series)};
    add(std::move(chart));
  }

  /// What losses and other components report under names of their own; of very many the first, in alphabetical order.
  void own_metrics() {
    std::set<std::string> names;
    for (const StepRecord& step : metrics_) {
      for (const auto& [name, value] : step.loss_metrics) {
        if (name != "kl" && name != "token_utility") names.insert("loss/" + name);
      }
      for (const auto& [name, value] : step.plugin_metrics) names.insert(name);
    }
    for (const std::string& name : names | std::views::take(kMostOwnMetrics))
      add({.title = spoken_name(name), .series = {of(name)}, .noisy = true});
  }

  void live_groups() {
    Chart chart{.title = "Live groups",
                .unit = "groups with differing rewards",
                .series = {of("live_groups")},
                .minimum = 0,
                .noisy = true};
    double groups = 0;
    for (const StepRecord& step : metrics_) groups = std::max(groups, step.value("groups"));
    if (groups > 0) chart.maximum = groups;
    const auto skipped =
        std::count_if(metrics_.begin(), metrics_.end(), [](const StepRecord& step) { return step.skipped; });
    if (skipped > 0)
      chart.note = std::to_string(skipped) + (skipped == 1 ? " step" : " steps") + " without an optimizer step";
    add(std::move(chart));
  }

  /// Where it is more than rounding.
  void rollout_gap() {
    constexpr double kRounding = 1e-3;
    const bool is_there =
        std::ranges::any_of(metrics_, [](const StepRecord& step) { return step.value("rollout_gap_max") > kRounding; });
    if (!is_there) return;
    add({.title = "Rollout gap",
         .unit = "nats, between log-probabilities when committed and as scored",
         .series = {of("rollout_gap")},
         .minimum = 0,
         .noisy = true});
    add({.title = "Weight of the rollout correction", .series = {of("rollout_weight")}, .noisy = true});
  }

  void phases() {
    Chart chart{.title = "Time", .unit = "seconds per step", .minimum = 0, .stacked = true};
    for (const PhaseShare& share : phase_shares(metrics_)) {
      Series series{phase_name(share.name), {}, {}};
      for (const StepRecord& step : metrics_) {
        series.y.push_back(seconds_of(step, share.name));
      }
      if (share.mean_seconds > 0) chart.series.push_back(std::move(series));
    }
    if (chart.series.empty()) {
      Series series{"seconds", {}, {}};
      for (const StepRecord& step : metrics_) series.y.push_back(step.seconds ? step.seconds->total : kUnknown);
      chart.series = {std::move(series)};
    }
    add(std::move(chart));
  }

  const std::vector<StepRecord>& metrics_;
  const Json& summary_;
  const std::vector<Alarm>& alarms_;
  std::vector<double> steps_;
  std::string html_;
};

}  // namespace

std::string html_curves(const std::vector<StepRecord>& steps, const nlohmann::ordered_json& summary,
                        const std::vector<Alarm>& alarms) {
  return Curves(steps, summary, alarms).html();
}

}  // namespace drift
