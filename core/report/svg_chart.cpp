#include <core/report/svg_plot.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>

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

}  // namespace drift
