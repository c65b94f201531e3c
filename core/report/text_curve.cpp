#include <core/report/text_curve.h>

#include <core/base/unknown.h>
#include <core/report/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace drift {
namespace {

constexpr int kLabelColumns = 8;
constexpr int kFewestColumns = kLabelColumns + 6, kFewestRows = 3;

struct Extent {
  double low, high;
};

/// Of the known values; equal ones are in the middle of it.
Extent extent_of(const std::vector<double>& values) {
  Extent extent{kUnknown, kUnknown};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    extent.low = std::isnan(extent.low) ? value : std::min(extent.low, value);
    extent.high = std::isnan(extent.high) ? value : std::max(extent.high, value);
  }
  if (extent.low == extent.high) {
    const double half = extent.low == 0 ? 1 : std::abs(extent.low) / 2;
    extent = {extent.low - half, extent.high + half};
  }
  return extent;
}

/// Mean of the values in each of `count` equal parts of the x axis; parts without one are unknown.
std::vector<double> means_along(const std::vector<double>& x, const std::vector<double>& y, int count) {
  std::vector<double> sum(static_cast<std::size_t>(count), 0), known(sum);
  const double begin = x.front(), length = std::max(x.back() - begin, 1e-12);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!std::isfinite(y[i])) continue;
    const auto part = static_cast<std::size_t>(std::lround((x[i] - begin) / length * (count - 1)));
    sum[part] += y[i];
    ++known[part];
  }
  for (std::size_t part = 0; part < sum.size(); ++part)
    sum[part] = known[part] > 0 ? sum[part] / known[part] : kUnknown;
  return sum;
}

/// Characters for the height of a bar within its line, the lowest first.
std::vector<std::string> levels_of(bool unicode) {
  if (unicode) return {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return {"_", ".", "-", "=", "#"};
}

/// A bar for each mean, over some lines, the highest first. An unknown mean is drawn as the one before it.
std::vector<std::string> bars(const std::vector<double>& means, const Extent& extent, int rows, bool unicode) {
  const std::vector<std::string> levels = levels_of(unicode);
  const auto a_line = static_cast<int>(levels.size());
  std::vector<std::string> lines(static_cast<std::size_t>(rows));
  double last = kUnknown;
  for (const double mean : means) {
    if (!std::isnan(mean)) last = mean;
    const double place = (last - extent.low) / (extent.high - extent.low);
    const int height = std::isnan(last) ? -1 : static_cast<int>(std::lround(place * (a_line * rows - 1)));
    for (int row = 0; row < rows; ++row) {
      const int level = height - a_line * (rows - 1 - row);
      lines[static_cast<std::size_t>(row)] +=
          level < 0 ? " " : levels[static_cast<std::size_t>(std::min(level, a_line - 1))];
    }
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

}  // namespace

std::vector<std::string> text_curve(const std::vector<double>& x, const std::vector<double>& y, int columns, int rows,
                                    bool unicode) {
  if (x.empty() || columns < kFewestColumns || rows < kFewestRows) return {};
  const int high = rows - 1;
  const std::vector<double> means = means_along(x, y, columns - kLabelColumns - 2);
  const Extent extent = extent_of(means);
  if (std::isnan(extent.low)) return {};
  std::vector<std::string> lines = bars(means, extent, high, unicode);
  for (int row = 0; row < high; ++row) {
    const bool labelled = row == 0 || row == high - 1 || (high >= 7 && row == (high - 1) / 2);
    const double value = extent.high - (extent.high - extent.low) * row / std::max(1, high - 1);
    const char* axis = unicode ? (labelled ? "┤" : "│") : (labelled ? "+" : "|");
    lines[static_cast<std::size_t>(row)].insert(
        0, aligned(labelled ? format_adaptive(value) : "", kLabelColumns, true) + " " + axis);
  }
  const std::string first = format_exact(x.front()), last = format_exact(x.back());
  std::string bottom = std::string(kLabelColumns + 2, ' ') + first;
  if (first != last && display_width(bottom + last) < columns)
    bottom += aligned(last, static_cast<std::size_t>(columns - display_width(bottom)), true);
  lines.push_back(bottom);
  return lines;
}

std::string text_spark(const std::vector<double>& y, int columns, bool unicode) {
  if (y.empty() || columns < 1) return {};
  std::vector<double> x(y.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const std::vector<double> means = means_along(x, y, std::min(columns, static_cast<int>(y.size())));
  const Extent extent = extent_of(means);
  return std::isnan(extent.low) ? "" : bars(means, extent, 1, unicode).front();
}

}  // namespace drift
