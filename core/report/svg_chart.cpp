#include <core/report/svg_plot.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/page_files.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

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
std::string hover_data(const Chart& chart, const PlotFrame& frame) {
  std::vector<double> places;
  for (const double x : chart.x) places.push_back(frame.x(x));
  auto series = nlohmann::json::array();
  for (const Series& one : chart.series) series.push_back({{"name", one.name}, {"y", rounded(one.y)}});
  nlohmann::json data{{"x", rounded(chart.x, chart.whole_x ? 12 : 4)}, {"at", rounded(places)}, {"series", series}};
  if (chart.x_name != Chart{}.x_name) data["x_name"] = chart.x_name;
  return json_text(data);
}

std::string caption(const Chart& chart) {
  std::string last;
  for (const Series& series : chart.series) {
    const auto known = std::find_if(series.y.rbegin(), series.y.rend(), [](double y) { return std::isfinite(y); });
    if (chart.series.size() == 1 && known != series.y.rend())
      last = std::abs(*known) < 1000 ? print_text("%.3g", *known) : format_count(*known);
  }
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
  const auto letters = static_cast<int>((kPlotWidth - kMark) / kLetter);
  std::string svg;
  double x = 0, y = height + kLegendRow / 2;
  for (std::size_t number = 0; number < chart.series.size(); ++number) {
    const std::string& name = chart.series[number].name;
    const std::string shown = display_width(name) <= letters ? name : truncate_to_width(name, letters - 1) + "…";
    const double width = kMark + kLetter * display_width(shown);
    if (x > 0 && x + width > kPlotWidth) x = 0, y += kLegendRow;
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
  const std::optional<Plot> plot = make_plot(chart);
  if (!plot) return {};
  return "<figure data-points=\"" + escape_html(hover_data(plot->chart, plot->frame)) + "\">" + caption(plot->chart) +
         print_text("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", kPlotWidth, kPlotHeight) +
         escape_html(chart.title) + "\">" + draw(*plot) +
         print_text("<line class=\"cursor\" x1=\"-9\" x2=\"-9\" y1=\"%.1f\" y2=\"%.1f\"/></svg>", kPlotTop,
                    kPlotHeight - kPlotBottom) +
         legend(plot->chart) + "</figure>\n";
}

std::string svg_file(const Chart& chart) {
  const std::optional<Plot> plot = make_plot(chart);
  if (!plot) return {};
  double height = kHeading + kPlotHeight + 4;
  const double width = kPlotWidth + 2 * kMargin;
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
  return svg + "</text>\n" + print_text("<g transform=\"translate(0 %.0f)\">", kHeading) + draw(*plot) + "</g>\n" +
         legend + "</svg>\n";
}

}  // namespace drift
