#pragma once

// What the forms of a chart share: the points that are drawn, and the axes.

#include <core/report/chart.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace drift {

struct Tick {
  double value;
  std::string label;
};

struct Axis {
  double low = 0, high = 0;
  bool whole = false;  ///< no tick lies between two whole numbers

  /// Where a value lies, if the axis goes from `begin` to `end`.
  double place(double value, double begin, double end) const {
    return begin + (value - low) / (high - low) * (end - begin);
  }
  /// About `count` round numbers.
  std::vector<Tick> ticks(int count) const;
};

struct Plot {
  Chart chart;  ///< as it is drawn: without unknown series, long runs in fewer points; what is stacked has bands
  Axis x, y;
  std::size_t window;  ///< of the moving mean, in points
};

/// Nothing if no value is known.
std::optional<Plot> make_plot(const Chart& chart, std::size_t most_points);

/// Round numbers in [low, high], about `count` of them.
std::vector<double> axis_ticks(double low, double high, int count);

inline constexpr std::size_t kMostSvgPoints = 500;
/// Number of steps per drawn point: more than one in long runs.
std::size_t chart_bucket(std::size_t steps, std::size_t most_points = kMostSvgPoints);
/// Steps of the moving mean of noisy charts; 1 if the run is too short for one.
std::size_t smoothing_window(std::size_t steps);
/// Centred mean of `window` values, of those of them that are known. Unknown where the value is, so that gaps stay
/// gaps.
std::vector<double> moving_mean(const std::vector<double>& values, std::size_t window);

}  // namespace drift
