#include <core/report/plot.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/page_files.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace drift {
namespace {

// The plot, in the units of the viewBox; the page scales it.
constexpr double kWidth = 400, kHeight = 196;
constexpr double kLeft = 50, kRight = kWidth - 10, kTop = 8, kBase = kHeight - 34;
constexpr double kDigitWidth = 7;  // of a tick's label
constexpr std::size_t kColours = 8;

/// "s1", "s1 dash": what marks one series apart. Where the colours are used up, they come again with dashes, then with
/// dots.
std::string look_of(const Chart& chart, std::size_t series) {
  constexpr std::array<const char*, 3> kLines = {"", " dash", " dots"};
  const std::size_t colour = chart.series[series].colour.value_or(series);
  return "s" + std::to_string(colour % kColours) + kLines[colour / kColours % kLines.size()];
}

/// Draws the marks of one plot.
class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot), chart_(plot.chart) {}

  double x(double value) const { return plot_.x.place(value, kLeft, kRight); }

  /// Axes, and what is drawn between them.
  std::string svg() const {
    std::string svg = axes();
    for (std::size_t number = 0; number < chart_.series.size(); ++number) svg += band(number);  // below all lines
    for (std::size_t number = 0; number < chart_.series.size() && !chart_.stacked; ++number) svg += line(number);
    return svg;
  }

 private:
  double y(double value) const { return plot_.y.place(value, kBase, kTop); }

  std::string straight(const char* part, double x1, double x2, double y1, double y2) const {
    return print_text("<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", part, x1, x2, y1, y2);
  }
  std::string label(double x, double y, const char* anchor, const std::string& text) const {
    return print_text("<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) +
           escape_html(text) + "</text>";
  }
  std::string path(const char* part, std::size_t series, const std::string& shape) const {
    if (shape.empty()) return {};
    return print_text("<path class=\"%s %s\" d=\"", part, look_of(chart_, series).c_str()) + shape + "\"/>";
  }

  std::string axes() const {
    std::string svg;
    for (const Tick& tick : plot_.y.ticks(4)) {
      svg += straight("grid", kLeft, kRight, y(tick.value), y(tick.value));
      svg += label(kLeft - 6, y(tick.value) + 4, "end", tick.label);
    }
    svg += straight("axis", kLeft, kRight, kBase, kBase);
    for (const Tick& tick : plot_.x.ticks(6)) {
      svg += straight("axis", x(tick.value), x(tick.value), kBase, kBase + 4);
      const double half = kDigitWidth / 2 * static_cast<double>(tick.label.size());  // the last must not be cut off
      svg += label(std::min(x(tick.value), kWidth - half), kBase + 16, "middle", tick.label);
    }
    for (const double mark : chart_.marks) svg += straight("mark", x(mark), x(mark), kTop, kBase);
    return svg + label(kRight, kHeight - 4, "end", chart_.x_name);
  }

  std::string through(const std::vector<double>& values) const {
    std::string path;
    bool pen_down = false;
    for (std::size_t at = 0; at < values.size(); ++at) {
      const bool known = std::isfinite(values[at]);
      if (known) path += print_text(pen_down ? "L%.1f %.1f" : "M%.1f %.1fh0", x(chart_.x[at]), y(values[at]));
      pen_down = known || (chart_.points && pen_down);
    }
    return path;
  }

  /// One closed shape for each stretch of steps with a known value; an area's outline keeps it visible at one step.
  std::string band(std::size_t number) const {
    const std::vector<double>&low = chart_.series[number].low, &high = chart_.series[number].high;
    std::string shape, upper, lower;
    for (std::size_t at = 0; at <= low.size(); ++at) {
      if (at < low.size() && std::isfinite(low[at])) {
        upper += print_text("%s%.1f %.1f", upper.empty() ? "M" : "L", x(chart_.x[at]), y(high[at]));
        lower = print_text("L%.1f %.1f", x(chart_.x[at]), y(low[at])) + lower;
      } else if (!upper.empty() && (at == low.size() || !chart_.points)) {
        shape += upper + lower + "Z";
        upper = lower = "";
      }
    }
    return path(chart_.stacked ? "area" : "band", number, shape);
  }

  std::string line(std::size_t number) const {
    const std::vector<double>& values = chart_.series[number].y;
    const bool is_smoothed = plot_.window > 1;
    std::string svg = path(is_smoothed ? "faint" : "line", number, through(values));
    if (is_smoothed) svg += path("line", number, through(moving_mean(values, plot_.window)));
    for (std::size_t at = 0; chart_.points && at < values.size(); ++at) {
      if (std::isfinite(values[at]))
        svg += print_text("<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"/>",
                          look_of(chart_, number).c_str(), x(chart_.x[at]), y(values[at]));
    }
    return svg;
  }

  const Plot& plot_;
  const Chart& chart_;
};

// ---- in a page ----

/// Each with these digits, whole numbers without a decimal point; null if it is not known.
nlohmann::json rounded(const std::vector<double>& values, int digits = 4) {
  auto list = nlohmann::json::array();
  for (const double value : values) {
    const double short_value = std::isfinite(value) ? std::stod(print_text("%.*g", digits, value)) : value;
    const bool whole = std::abs(short_value) < 1e15 && short_value == std::trunc(short_value);
    list.push_back(whole ? nlohmann::json(static_cast<std::int64_t>(short_value)) : nlohmann::json(short_value));
  }
  return list;
}

// What the script needs: steps, their place in the viewBox, and the values.
std::string hover_data(const Chart& chart, const Drawing& drawing) {
  std::vector<double> places;
  for (const double x : chart.x) places.push_back(drawing.x(x));
  auto series = nlohmann::json::array();
  for (const Series& one : chart.series) series.push_back({{"name", one.name}, {"y", rounded(one.y)}});
  nlohmann::json data{{"x", rounded(chart.x, chart.whole_x ? 12 : 4)}, {"at", rounded(places)}, {"series", series}};
  if (chart.x_name != Chart{}.x_name) data["x_name"] = chart.x_name;
  return json_text(data);
}

std::string caption(const Chart& chart) {
  std::string last;
  const std::vector<double>& y = chart.series.front().y;
  const auto known = std::find_if(y.rbegin(), y.rend(), [](double value) { return std::isfinite(value); });
  if (chart.series.size() == 1) last = std::abs(*known) < 1000 ? print_text("%.3g", *known) : format_count(*known);
  return "<figcaption><b>" + escape_html(chart.title) + "</b> <small>" + escape_html(chart.unit) + "</small> <output>" +
         last + "</output></figcaption>";
}

std::string legend(const Chart& chart) {
  std::string html;
  for (std::size_t number = 0; chart.series.size() > 1 && number < chart.series.size(); ++number) {
    html += print_text("<span><i class=\"%s\"></i>", look_of(chart, number).c_str()) +
            escape_html(chart.series[number].name) + "</span>";
  }
  if (!chart.note.empty()) html += "<span>" + escape_html(chart.note) + "</span>";
  return html.empty() ? "" : "<p class=\"legend\">" + html + "</p>";
}

// ---- a file of its own ----

constexpr double kHeading = 24;              // above the plot
constexpr double kMargin = 4;                // beside it, for fonts that are wider than expected
constexpr double kLegendRow = 18;            // a line of the legend
constexpr double kLetter = 6.2;              // mean width of one at the legend's size
constexpr double kMark = 22, kBetween = 14;  // the legend's piece of line, and what parts two entries

/// The names of the series, each behind a piece of its line; `height` grows by the rows that they take.
std::string legend_rows(const Chart& chart, double& height) {
  if (chart.series.size() < 2) return {};
  const auto letters = static_cast<int>((kWidth - kMark) / kLetter);
  std::string svg;
  double x = 0, y = height + kLegendRow / 2;
  for (std::size_t number = 0; number < chart.series.size(); ++number) {
    const std::string& name = chart.series[number].name;
    const std::string shown = display_width(name) <= letters ? name : truncate_to_width(name, letters - 1) + "…";
    const double width = kMark + kLetter * display_width(shown);
    if (x > 0 && x + width > kWidth) x = 0, y += kLegendRow;
    svg += print_text("<path class=\"%s %s\" d=\"M%.1f %.1fh%.1f\"/>", chart.stacked ? "area" : "line",
                      look_of(chart, number).c_str(), x + 2, y, kMark - 8) +
           print_text("<text x=\"%.1f\" y=\"%.1f\" font-size=\"11.5\" fill=\"#1d2530\">", x + kMark, y + 4) +
           escape_html(shown) + "</text>";
    x += width + kBetween;
  }
  height = y + kLegendRow / 2;
  return svg;
}

}  // namespace

std::string svg_chart(const Chart& chart) {
  const std::optional<Plot> plot = make_plot(chart, kMostSvgPoints);
  if (!plot) return {};
  const Drawing drawing(*plot);
  return "<figure data-points=\"" + escape_html(hover_data(plot->chart, drawing)) + "\">" + caption(plot->chart) +
         print_text("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", kWidth, kHeight) +
         escape_html(chart.title) + "\">" + drawing.svg() +
         print_text("<line class=\"cursor\" x1=\"-9\" x2=\"-9\" y1=\"%.1f\" y2=\"%.1f\"/></svg>", kTop, kBase) +
         legend(plot->chart) + "</figure>\n";
}

std::string svg_file(const Chart& chart) {
  const std::optional<Plot> plot = make_plot(chart, kMostSvgPoints);
  if (!plot) return {};
  double height = kHeading + kHeight + 4;
  const double width = kWidth + 2 * kMargin;
  const std::string legend = legend_rows(plot->chart, height);
  std::string svg = print_text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"%.0f 0 %.0f %.0f\" "
      "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n",
      width, height, -kMargin, width, height);
  svg += "<title>" + escape_html(chart.title) + "</title>\n<style>" + kMarkStyle + kPaperStyle + "</style>\n";
  if (!chart.note.empty()) svg += "<desc>" + escape_html(chart.note) + "</desc>\n";
  svg += print_text("<rect x=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", -kMargin, width, height) +
         "<text x=\"2\" y=\"15\" font-size=\"13\" fill=\"#1d2530\">" + escape_html(chart.title);
  if (!chart.unit.empty()) svg += "<tspan fill=\"#667080\" dx=\"6\">" + escape_html(chart.unit) + "</tspan>";
  return svg + "</text>\n" + print_text("<g transform=\"translate(0 %.0f)\">", kHeading) + Drawing(*plot).svg() +
         "</g>\n" + legend + "</svg>\n";
}

}  // namespace drift
