#pragma once

// What a chart shows. Its forms are SVG for pages and papers, and characters for terminals.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// One line. NaN makes a gap.
struct Series {
  std::string name = {};
  std::vector<double> y = {};    ///< one a value of Chart::x
  std::vector<double> low = {};  ///< with `high`, a band around the line; empty: none
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
  bool noisy = false;                  ///< a moving mean stands out from the steps' own values
  bool stacked = false;                ///< areas upon each other
  bool points = false;                 ///< few values: mark each of them, and draw the line over gaps
};

/// A <figure>: caption with the last value, axes with ticks, legend if there are several series, and the values that
/// the page's script shows under the pointer. Empty if no value is known.
std::string svg_chart(const Chart& chart);

/// The same chart as a complete SVG file for a paper: dark on white, title and unit above, the legend below. Empty if
/// no value is known.
std::string svg_file(const Chart& chart);

/// The first series as bars of characters, blocks or ASCII, with both axes: `rows` lines, each at most `columns` wide.
/// A value that is not known reads as the one before it. Empty if none is known or there is no room.
std::vector<std::string> text_chart(const Chart& chart, int columns, int rows, bool unicode);

/// Values in one line of at most `columns`: "▂▃▅▇█", or "_.-=#". Empty if no value is known.
std::string text_spark(const std::vector<double>& y, int columns, bool unicode);

}  // namespace drift
