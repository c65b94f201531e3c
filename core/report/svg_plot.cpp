#include <core/report/svg_plot.h>

#include <core/base/unknown.h>
#include <core/report/format.h>
#include <core/report/html.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace drift {
namespace {

constexpr double kDigitWidth = 7;  // of a tick's label
constexpr std::size_t kMostPoints = 500;
constexpr std::size_t kFewestSmoothed = 20;
constexpr std::size_t kColours = 8;

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

PlotFrame frame_of(const Chart& chart) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double low = chart.minimum.value_or(kInfinity), high = chart.maximum.value_or(-kInfinity);
  for (std::size_t at = 0; at < chart.x.size(); ++at) {
    double sum = 0;
    for (const Series& series : chart.series) {
      const double value = series.y[at];
      if (!std::isfinite(value)) continue;
      const double error = series.error.empty() || !std::isfinite(series.error[at]) ? 0 : series.error[at];
      sum += value;
      low = std::min(low, chart.stacked ? 0.0 : value - error);
      high = std::max(high, chart.stacked ? sum : value + error);
      if (!series.low.empty()) low = std::min(low, series.low[at]), high = std::max(high, series.high[at]);
    }
  }
  const double space = high > low ? 0.06 * (high - low) : std::max(0.5, std::abs(high)) * 0.5;
  if (!chart.minimum || low < *chart.minimum) low -= space;
  if (!chart.maximum || high > *chart.maximum) high += space;
  const bool one_step = chart.x.front() == chart.x.back();
  return {chart.x.front() - (one_step ? 0.5 : 0), chart.x.back() + (one_step ? 0.5 : 0), low, high};
}

/// Draws the marks of one plot.
class Drawing {
 public:
  explicit Drawing(const Plot& plot) : chart_(plot.chart), frame_(plot.frame), window_(plot.window) {}

  std::string svg() const { return axes() + (chart_.stacked ? stacked_areas() : lines()); }

 private:
  std::string straight(const char* part, double x1, double x2, double y1, double y2) const {
    return print_text("<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", part, x1, x2, y1, y2);
  }
  std::string label(double x, double y, const char* anchor, const std::string& text) const {
    return print_text("<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) +
           escape_html(text) + "</text>";
  }
  std::string path(const char* part, std::size_t series, const std::string& shape) const {
    return print_text("<path class=\"%s %s\" d=\"", part, look_of(chart_, series).c_str()) + shape + "\"/>";
  }

  std::string axes() const {
    std::string svg;
    for (const double tick : axis_ticks(frame_.y_low, frame_.y_high, 4)) {
      svg += straight("grid", kPlotLeft, kPlotWidth - kPlotRight, frame_.y(tick), frame_.y(tick));
      svg += label(kPlotLeft - 6, frame_.y(tick) + 4, "end", short_number(tick));
    }
    const double base = kPlotHeight - kPlotBottom;
    svg += straight("axis", kPlotLeft, kPlotWidth - kPlotRight, base, base);
    for (const double tick : axis_ticks(frame_.x_low, frame_.x_high, 6)) {
      if (chart_.whole_x && tick != std::floor(tick)) continue;
      svg += straight("axis", frame_.x(tick), frame_.x(tick), base, base + 4);
      const std::string number = short_number(tick);
      const double half = kDigitWidth / 2 * static_cast<double>(number.size());  // the last must not be cut off
      svg += label(std::min(frame_.x(tick), kPlotWidth - half), base + 16, "middle", number);
    }
    for (const double mark : chart_.marks) svg += straight("mark", frame_.x(mark), frame_.x(mark), kPlotTop, base);
    return svg + label(kPlotWidth - kPlotRight, kPlotHeight - 4, "end", chart_.x_name);
  }

  std::string line_path(const std::vector<double>& y, bool over_gaps = false) const {
    std::string path;
    bool pen_down = false;
    for (std::size_t at = 0; at < y.size(); ++at) {
      if (std::isfinite(y[at]))
        path += print_text(pen_down ? "L%.1f %.1f" : "M%.1f %.1fh0", frame_.x(chart_.x[at]), frame_.y(y[at]));
      pen_down = std::isfinite(y[at]) || (over_gaps && pen_down);
    }
    return path;
  }

  /// One closed shape for each stretch of steps with a known value.
  std::string between(const std::vector<double>& low, const std::vector<double>& high) const {
    std::string shape, upper, lower;
    const auto close = [&] {
      if (!upper.empty()) shape += upper + lower + "Z";
      upper = lower = "";
    };
    for (std::size_t at = 0; at < low.size(); ++at) {
      if (std::isfinite(low[at])) {
        upper += print_text("%s%.1f %.1f", upper.empty() ? "M" : "L", frame_.x(chart_.x[at]), frame_.y(high[at]));
        lower = print_text("L%.1f %.1f", frame_.x(chart_.x[at]), frame_.y(low[at])) + lower;
      } else if (!chart_.points) {
        close();
      }
    }
    close();
    return shape;
  }

  std::string band(std::size_t number) const {
    const std::string shape = between(chart_.series[number].low, chart_.series[number].high);
    return shape.empty() ? "" : path("band", number, shape);
  }

  std::string stacked_areas() const {
    std::string svg;
    std::vector<double> floor;
    for (std::size_t at = 0; at < chart_.x.size(); ++at) {
      const bool is_known =
          std::ranges::any_of(chart_.series, [&](const Series& series) { return std::isfinite(series.y[at]); });
      floor.push_back(is_known ? 0 : kUnknown);
    }
    for (std::size_t number = 0; number < chart_.series.size(); ++number) {
      std::vector<double> top = floor;
      for (std::size_t at = 0; at < top.size(); ++at) {
        const double height = chart_.series[number].y[at];
        top[at] += std::isfinite(height) ? height : 0;
      }
      svg += path("area", number, between(floor, top));  // its outline keeps an area of one step visible
      floor = std::move(top);
    }
    return svg;
  }

  std::string error_bars(std::size_t number) const {
    const Series& series = chart_.series[number];
    std::string shape;
    for (std::size_t at = 0; at < series.error.size(); ++at) {
      if (!std::isfinite(series.y[at]) || !std::isfinite(series.error[at])) continue;
      const double x = frame_.x(chart_.x[at]), high = frame_.y(series.y[at] + series.error[at]),
                   low = frame_.y(series.y[at] - series.error[at]);
      shape += print_text("M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6", x, high, low, x - 3, high, x - 3, low);
    }
    return shape.empty() ? "" : path("bars", number, shape);
  }

  std::string lines() const {
    std::string svg;
    for (std::size_t number = 0; number < chart_.series.size(); ++number) svg += band(number);  // below all lines
    for (std::size_t number = 0; number < chart_.series.size(); ++number) {
      const Series& series = chart_.series[number];
      const bool is_smoothed = window_ > 1 && series.low.empty();
      svg += error_bars(number);
      svg += path(is_smoothed ? "faint" : "line", number, line_path(series.y, chart_.points));
      if (is_smoothed) svg += path("line", number, line_path(moving_mean(series.y, window_)));
      for (std::size_t at = 0; chart_.points && at < series.y.size(); ++at) {
        if (std::isfinite(series.y[at]))
          svg += print_text("<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"/>",
                            look_of(chart_, number).c_str(), frame_.x(chart_.x[at]), frame_.y(series.y[at]));
      }
    }
    return svg;
  }

  const Chart& chart_;
  const PlotFrame& frame_;
  const std::size_t window_;
};

}  // namespace

double mean_of_known(std::span<const double> values) {
  double sum = 0;
  int known = 0;
  for (const double value : values) {
    if (std::isfinite(value)) sum += value, ++known;
  }
  return known > 0 ? sum / known : kUnknown;
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

std::size_t chart_bucket(std::size_t steps) {
  return std::max<std::size_t>(1, (steps + kMostPoints - 1) / kMostPoints);
}

std::size_t smoothing_window(std::size_t steps) {
  return steps < kFewestSmoothed ? 1 : std::max<std::size_t>(5, steps / 20 | 1);
}

// Unknown where the value is unknown, so that gaps stay gaps.
std::vector<double> moving_mean(const std::vector<double>& values, std::size_t window) {
  std::vector<double> means(values.size());
  for (std::size_t at = 0; at < values.size(); ++at) {
    const std::size_t begin = at > window / 2 ? at - window / 2 : 0, end = std::min(values.size(), at + window / 2 + 1);
    means[at] = std::isfinite(values[at]) ? mean_of_known(std::span(values).subspan(begin, end - begin)) : values[at];
  }
  return means;
}

std::string look_of(const Chart& chart, std::size_t series) {
  constexpr std::array<const char*, 3> kLines = {"", " dash", " dots"};
  const std::size_t colour = chart.series[series].colour.value_or(series);
  return "s" + std::to_string(colour % kColours) + kLines[colour / kColours % kLines.size()];
}

std::optional<Plot> make_plot(const Chart& whole) {
  const auto is_known = [](const Series& series) {
    return std::any_of(series.y.begin(), series.y.end(), [](double y) { return std::isfinite(y); });
  };
  Chart chart = whole;
  std::erase_if(chart.series, [&](const Series& series) { return !is_known(series); });
  if (chart.series.empty()) return std::nullopt;
  const std::size_t bucket = chart_bucket(chart.x.size());
  if (bucket > 1) {
    for (Series& series : chart.series) {
      for (std::vector<double>* values : {&series.y, &series.low, &series.high}) *values = in_buckets(*values, bucket);
      series.error.clear();
    }
    chart.x = in_buckets(chart.x, bucket);
  }
  const std::size_t window = chart.noisy ? smoothing_window(whole.x.size()) / bucket : 1;
  for (Series& series : chart.series) {
    if (window == 1 || series.low.empty()) continue;
    for (std::vector<double>* values : {&series.y, &series.low, &series.high}) *values = moving_mean(*values, window);
  }
  const PlotFrame frame = frame_of(chart);
  return Plot{std::move(chart), frame, window};
}

std::string draw(const Plot& plot) { return Drawing(plot).svg(); }

}  // namespace drift
