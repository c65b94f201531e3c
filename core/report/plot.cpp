#include <core/report/plot.h>

#include <core/base/unknown.h>
#include <core/record/estimate.h>
#include <core/report/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace drift {
namespace {

constexpr std::size_t kFewestSmoothed = 20;

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return print_text("%.3gM", value / 1e6);
  if (size >= 1e4) return print_text("%.4gk", value / 1e3);
  if (size > 0 && size < 1e-3) {
    std::string text = print_text("%.1e", value);
    if (const std::size_t zero = text.find(".0"); zero != std::string::npos) text.erase(zero, 2);
    return text;
  }
  return print_text("%.4g", value);
}

std::vector<double> in_buckets(const std::vector<double>& values, std::size_t bucket) {
  std::vector<double> means;
  for (std::size_t at = 0; at < values.size(); at += bucket) {
    means.push_back(mean_of_known(std::span(values).subspan(at, std::min(values.size() - at, bucket))));
  }
  return means;
}

/// Each area becomes a band: what lies below it, and the same with its own height.
void stack(Chart& chart) {
  std::vector<double> top;
  for (std::size_t at = 0; at < chart.x.size(); ++at) {
    const auto is_known = [&](const Series& series) { return std::isfinite(series.y[at]); };
    top.push_back(std::ranges::any_of(chart.series, is_known) ? 0 : kUnknown);
  }
  for (Series& series : chart.series) {
    series.low = top;
    for (std::size_t at = 0; at < top.size(); ++at) top[at] += std::isfinite(series.y[at]) ? series.y[at] : 0;
    series.high = top;
  }
}

Axis y_axis(const Chart& chart) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double low = chart.minimum.value_or(kInfinity), high = chart.maximum.value_or(-kInfinity);
  for (const Series& series : chart.series) {
    for (const std::vector<double>* values : {&series.y, &series.low, &series.high}) {
      if (chart.stacked && values == &series.y) continue;
      for (const double value : *values) {
        if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
      }
    }
  }
  const double space = high > low ? 0.06 * (high - low) : std::max(0.5, std::abs(high)) * 0.5;
  if (!chart.minimum || low < *chart.minimum) low -= space;
  if (!chart.maximum || high > *chart.maximum) high += space;
  return {low, high};
}

}  // namespace

std::vector<Tick> Axis::ticks(int count) const {
  std::vector<Tick> ticks;
  for (const double value : axis_ticks(low, high, count)) {
    if (!whole || value == std::floor(value)) ticks.push_back({value, short_number(value)});
  }
  return ticks;
}

std::optional<Plot> make_plot(const Chart& whole, std::size_t most_points) {
  Plot plot{whole, {}, {}, 1};
  Chart& chart = plot.chart;
  std::erase_if(chart.series, [](const Series& series) {
    return std::ranges::none_of(series.y, [](double y) { return std::isfinite(y); });
  });
  if (chart.series.empty()) return std::nullopt;
  const std::size_t bucket = chart_bucket(chart.x.size(), most_points);
  if (chart.noisy) plot.window = smoothing_window(chart.x.size()) / bucket;
  chart.x = in_buckets(chart.x, bucket);
  for (Series& series : chart.series) {
    for (std::vector<double>* values : {&series.y, &series.low, &series.high}) *values = in_buckets(*values, bucket);
  }
  if (chart.stacked) stack(chart);
  const double around = chart.x.front() == chart.x.back() ? 0.5 : 0;
  plot.x = {chart.x.front() - around, chart.x.back() + around, chart.whole_x};
  plot.y = y_axis(chart);
  return plot;
}

std::vector<double> axis_ticks(double low, double high, int count) {
  std::vector<double> ticks;
  if (!(high > low)) return ticks;
  const double rough = (high - low) / count;
  const double unit = std::pow(10.0, std::floor(std::log10(rough)));
  const double multiple = rough / unit;
  const double spacing = unit * (multiple > 7 ? 10 : multiple > 3 ? 5 : multiple > 1.5 ? 2 : 1);
  const double slack = 1e-9 * (high - low);
  for (double number = std::ceil((low - slack) / spacing); number * spacing <= high + slack; ++number) {
    ticks.push_back(number == 0 ? 0 : number * spacing);  // never -0
  }
  return ticks;
}

std::size_t chart_bucket(std::size_t steps, std::size_t most_points) {
  return std::max<std::size_t>(1, (steps + most_points - 1) / most_points);
}

std::size_t smoothing_window(std::size_t steps) {
  return steps < kFewestSmoothed ? 1 : std::max<std::size_t>(5, steps / 20 | 1);
}

std::vector<double> moving_mean(const std::vector<double>& values, std::size_t window) {
  std::vector<double> means(values.size());
  for (std::size_t at = 0; at < values.size(); ++at) {
    const std::size_t begin = at > window / 2 ? at - window / 2 : 0, end = std::min(values.size(), at + window / 2 + 1);
    means[at] = std::isfinite(values[at]) ? mean_of_known(std::span(values).subspan(begin, end - begin)) : values[at];
  }
  return means;
}

}  // namespace drift
