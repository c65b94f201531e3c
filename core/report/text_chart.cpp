#include <core/report/plot.h>

#include <core/base/unknown.h>
#include <core/report/format.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

constexpr int kLabelColumns = 8, kAxisColumns = 2;
constexpr int kFewestColumns = 4, kFewestRows = 2;  // between the axes

std::size_t rounded_place(const Axis& axis, double value, std::size_t begin, std::size_t end) {
  return static_cast<std::size_t>(std::lround(axis.place(value, static_cast<double>(begin), static_cast<double>(end))));
}

/// The first series in each of some columns: where no point lies, the one before.
std::vector<double> along(const Plot& plot, std::size_t columns) {
  std::vector<double> values(columns, kUnknown);
  const std::vector<double>& y = plot.chart.series.front().y;
  for (std::size_t at = 0; at < y.size(); ++at) {
    if (std::isfinite(y[at])) values[rounded_place(plot.x, plot.chart.x[at], 0, columns - 1)] = y[at];
  }
  for (std::size_t at = 1; at < columns; ++at) {
    if (std::isnan(values[at])) values[at] = values[at - 1];
  }
  return values;
}

/// A bar for each value, over some lines, the highest first.
std::vector<std::string> bars(const std::vector<double>& values, const Axis& y, std::size_t rows, bool unicode) {
  // Characters for the height of a bar within its line, the lowest first.
  const std::vector<std::string> levels = unicode ? std::vector<std::string>{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
                                                  : std::vector<std::string>{"_", ".", "-", "=", "#"};
  std::vector<std::string> lines(rows);
  for (const double value : values) {
    const std::size_t height =
        std::isnan(value) ? 0 : 1 + rounded_place(y, value, 0, levels.size() * rows - 1);  // of so many levels
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t below = levels.size() * (rows - 1 - row);
      lines[row] += height <= below ? " " : levels[std::min(height - below, levels.size()) - 1];
    }
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

}  // namespace

std::vector<std::string> text_chart(const Chart& chart, int columns, int rows, bool unicode) {
  if (columns - kLabelColumns - kAxisColumns < kFewestColumns || rows - 1 < kFewestRows) return {};
  const auto width = static_cast<std::size_t>(columns - kLabelColumns - kAxisColumns),
             height = static_cast<std::size_t>(rows - 1);
  const std::optional<Plot> plot = make_plot(chart, width);
  if (!plot) return {};
  std::vector<std::string> lines = bars(along(*plot, width), plot->y, height, unicode), labels(height);
  for (const Tick& tick : plot->y.ticks(rows < 7 ? 2 : 4))
    labels[rounded_place(plot->y, tick.value, height - 1, 0)] = tick.label;
  for (std::size_t row = 0; row < height; ++row) {
    const char* axis = labels[row].empty() ? (unicode ? " │" : " |") : (unicode ? " ┤" : " +");
    lines[row].insert(0, aligned(labels[row], kLabelColumns, true) + axis);
  }
  std::string& below = lines.emplace_back(kLabelColumns + kAxisColumns, ' ');
  for (const Tick& tick : plot->x.ticks(6)) {
    const std::size_t place = kLabelColumns + kAxisColumns + rounded_place(plot->x, tick.value, 0, width - 1);
    const std::size_t begin = std::min(place, static_cast<std::size_t>(columns) - tick.label.size());
    const std::size_t behind = below.size() + (below.back() == ' ' ? 0 : 1);
    if (begin >= behind) below = aligned(below, begin, false) + tick.label;
  }
  return lines;
}

std::string text_spark(const std::vector<double>& y, int columns, bool unicode) {
  if (y.empty() || columns < 1) return {};
  Chart chart{.series = {{.y = y}}};
  for (std::size_t at = 0; at < y.size(); ++at) chart.x.push_back(static_cast<double>(at));
  const std::optional<Plot> plot = make_plot(chart, static_cast<std::size_t>(columns));
  return plot ? bars(along(*plot, plot->chart.x.size()), plot->y, 1, unicode).front() : "";
}

}  // namespace drift
