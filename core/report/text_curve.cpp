#include <core/report/text_curve.h>

#include <core/base/unknown.h>
#include <core/report/format.h>

#include <algorithm>
#include <array>
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

/// Dots on a grid of characters. A Braille pattern has two by four, ASCII one.
class DotCanvas {
 public:
  DotCanvas(int columns, int rows, bool unicode)
      : columns_(columns), rows_(rows), unicode_(unicode), cells_(static_cast<std::size_t>(columns * rows), 0) {}

  int width() const { return columns_ * (unicode_ ? 2 : 1); }
  int height() const { return rows_ * (unicode_ ? 4 : 1); }

  /// @param y  0: the lowest row of dots
  void set(int x, int y) {
    const int down = height() - 1 - y;
    if (!unicode_) {
      cells_[static_cast<std::size_t>(down * columns_ + x)] = 1;
      return;
    }
    static constexpr std::array<std::array<unsigned, 2>, 4> kBits = {{{1, 8}, {2, 16}, {4, 32}, {64, 128}}};
    cells_[static_cast<std::size_t>(down / 4 * columns_ + x / 2)] |=
        kBits[static_cast<std::size_t>(down % 4)][static_cast<std::size_t>(x % 2)];
  }

  std::string line(int row) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const unsigned cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
      if (cell == 0) {
        text += ' ';
      } else if (!unicode_) {
        text += '*';
      } else {  // U+2800 and the dots
        text += '\xe2';
        text += static_cast<char>(0xa0 | cell >> 6);
        text += static_cast<char>(0x80 | (cell & 0x3f));
      }
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  int columns_, rows_;
  bool unicode_;
  std::vector<unsigned> cells_;
};

/// From one dot to the next one known, which is to its right.
void connect(DotCanvas& canvas, int x0, int y0, int x1, int y1) {
  const int parts = std::max(x1 - x0, std::abs(y1 - y0));
  for (int part = 0; part <= parts; ++part) {
    const double way = parts == 0 ? 0 : static_cast<double>(part) / parts;
    canvas.set(x0 + static_cast<int>(std::lround(way * (x1 - x0))),
               y0 + static_cast<int>(std::lround(way * (y1 - y0))));
  }
}

/// @param means  one for each column of dots
void draw_curve(DotCanvas& canvas, const std::vector<double>& means, const Extent& extent) {
  int last_x = -1, last_y = 0;
  for (int at = 0; at < canvas.width(); ++at) {
    const double mean = means[static_cast<std::size_t>(at)];
    if (std::isnan(mean)) continue;
    const double place = (mean - extent.low) / (extent.high - extent.low);
    const int height = std::clamp(static_cast<int>(std::lround(place * (canvas.height() - 1))), 0, canvas.height() - 1);
    if (last_x < 0) canvas.set(at, height);
    if (last_x >= 0) connect(canvas, last_x, last_y, at, height);
    last_x = at, last_y = height;
  }
}

}  // namespace

std::vector<std::string> text_curve(const std::vector<double>& x, const std::vector<double>& y, int columns, int rows,
                                    bool unicode) {
  if (x.empty() || columns < kFewestColumns || rows < kFewestRows) return {};
  const int high = rows - 1;
  DotCanvas canvas(columns - kLabelColumns - 2, high, unicode);
  const std::vector<double> means = means_along(x, y, canvas.width());
  const Extent extent = extent_of(means);
  if (std::isnan(extent.low)) return {};
  draw_curve(canvas, means, extent);
  std::vector<std::string> lines;
  for (int row = 0; row < high; ++row) {
    const bool labelled = row == 0 || row == high - 1 || (high >= 7 && row == (high - 1) / 2);
    const double value = extent.high - (extent.high - extent.low) * row / std::max(1, high - 1);
    const char* axis = unicode ? (labelled ? "┤" : "│") : (labelled ? "+" : "|");
    lines.push_back(aligned(labelled ? format_adaptive(value) : "", kLabelColumns, true) + " " + axis +
                    canvas.line(row));
  }
  const std::string first = format_exact(x.front()), last = format_exact(x.back());
  std::string bottom = std::string(kLabelColumns + 2, ' ') + first;
  if (first != last && display_width(bottom + last) < columns)
    bottom += aligned(last, static_cast<std::size_t>(columns - display_width(bottom)), true);
  lines.push_back(bottom);
  return lines;
}

std::string text_spark(const std::vector<double>& y, int columns, bool unicode) {
  static constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<const char*, 5> kLetters = {"_", ".", "-", "=", "#"};
  if (y.empty() || columns < 1) return {};
  std::vector<double> x(y.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const std::vector<double> means = means_along(x, y, std::min(columns, static_cast<int>(y.size())));
  const Extent extent = extent_of(means);
  std::string text;
  for (const double mean : means) {
    if (std::isnan(mean)) continue;
    const double place = (mean - extent.low) / (extent.high - extent.low);
    const auto level = [&](std::size_t count) {
      return static_cast<std::size_t>(std::lround(place * static_cast<double>(count - 1)));
    };
    text += unicode ? kBlocks[level(kBlocks.size())] : kLetters[level(kLetters.size())];
  }
  return text;
}

}  // namespace drift
