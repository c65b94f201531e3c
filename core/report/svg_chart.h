#pragma once

// Line charts of a run as inline SVG.

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace drift {

/// One line. NaN makes a gap.
struct Series {
  std::string name = {};
  std::vector<double> y = {};      ///< one a value of Chart::x
  std::vector<double> error = {};  ///< half length of the error bars; empty: none
  std::vector<double> low = {};    ///< with `high`, a band around the line; empty: none
  std::vector<double> high = {};
  std::optional<std::size_t> colour = {};  ///< by default its place among the lines of which something is known
};

struct Chart {
  std::string title = {};
  std::string unit = {};           ///< of the y axis, shown beside the title; empty: a plain number
  std::string note = {};           ///< a sentence below, or empty
  std::string x_name = "step";     ///< what x counts
  bool whole_x = true;             ///< x counts: no tick lies between two whole numbers
  std::vector<double> x = {};      ///< increasing
  std::vector<double> marks = {};  ///< x of what is pointed out
  std::vector<Series> series = {};
  std::optional<double> minimum = {};  ///< the y axis begins no higher than here
  std::optional<double> maximum = {};  ///< and ends no lower than here
  bool noisy = false;                  ///< a moving mean stands out from the steps' own values, or, with a band, is
                                       ///< all that is drawn
  bool stacked = false;                ///< areas upon each other
  bool points = false;                 ///< few values: mark each of them, and draw the line over gaps
};

/// A <figure>: caption with the last value, axes with ticks, legend if there are several series, and the values that
/// the page's script shows under the pointer. Empty if no value is known.
std::string svg_chart(const Chart& chart);

/// The same chart as a complete SVG file for a paper: dark on white, title and unit above, the legend below. Empty if
/// no value is known.
std::string svg_file(const Chart& chart);

/// Mean of those of the values that are finite; unknown if none is.
double mean_of_known(std::span<const double> values);

/// Centred mean of `window` values, of those of them that are known.
std::vector<double> moving_mean(const std::vector<double>& values, std::size_t window);

/// Number of steps per drawn point: more than one in long runs.
std::size_t chart_bucket(std::size_t steps);
/// Steps of the moving mean of noisy charts; 1 if the run is too short for one.
std::size_t smoothing_window(std::size_t steps);

/// Round numbers in [low, high], about `count` of them, for the ticks of an axis.
std::vector<double> axis_ticks(double low, double high, int count);

}  // namespace drift
