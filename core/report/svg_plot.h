#pragma once

// The drawing of a chart without caption and legend, as the page and as a file of its own have it.

#include <core/report/svg_chart.h>

#include <cstddef>
#include <optional>
#include <string>

namespace drift {

// In the units of the viewBox; the page scales it.
inline constexpr double kPlotWidth = 400, kPlotHeight = 196;
inline constexpr double kPlotLeft = 50, kPlotRight = 10, kPlotTop = 8, kPlotBottom = 34;

/// The range of both axes.
struct PlotFrame {
  double x_low, x_high, y_low, y_high;
  double x(double value) const {
    return kPlotLeft + (value - x_low) / (x_high - x_low) * (kPlotWidth - kPlotLeft - kPlotRight);
  }
  double y(double value) const {
    return kPlotHeight - kPlotBottom - (value - y_low) / (y_high - y_low) * (kPlotHeight - kPlotTop - kPlotBottom);
  }
};

struct Plot {
  Chart chart;  ///< as it is drawn: without unknown series, long runs in fewer points
  PlotFrame frame;
  std::size_t window;  ///< of the moving mean, in points
};

/// Nothing if no value is known.
std::optional<Plot> make_plot(const Chart& chart);

/// Axes, and what is drawn between them.
std::string draw(const Plot& plot);

/// "s1", "s1 dash": what marks one series apart. Where the colours are used up, they come again with dashes, then with
/// dots.
std::string look_of(const Chart& chart, std::size_t series);

}  // namespace drift
