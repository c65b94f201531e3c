#include <core/cli/fidelity_report.h>

#include <core/base/unknown.h>
#include <core/report/column_table.h>
#include <core/report/format.h>
#include <core/report/html_page.h>
#include <core/report/svg_chart.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

namespace drift {
namespace {

constexpr double kInterval = 1.96;  // standard errors on either side of a 95 % interval

double root(double square) { return std::sqrt(std::max(0.0, square)); }

/// Bounds of |E g - t| / |t|: 0 below if the estimator may be unbiased.
double bias_low(const ExactLine& line) {
  const Measured& square = line.row.fidelity.bias_square;
  return root(square.value - kInterval * square.error);
}
double bias_high(const ExactLine& line) {
  const Measured& square = line.row.fidelity.bias_square;
  return root(square.value + kInterval * square.error);
}
double bias(const ExactLine& line) { return root(line.row.fidelity.bias_square.value); }

std::string with_error(double value, double error) {
  if (std::isnan(value)) return "-";
  return format_adaptive(value) + " ± " + (std::isnan(error) ? "-" : print_text("%.2g", error));
}
std::string with_error(const Measured& measured) { return with_error(measured.value, measured.error); }
std::string with_error(const Estimate& estimate) { return with_error(estimate.mean, estimate.error); }

bool exceeds_steps(const ExactLine& line) { return line.row.contexts > line.row.steps; }

/// The column of a measure and that of its error.
template <class Row>
void add_measured(ColumnTable<Row>& table, const std::string& title, const std::function<Measured(const Row&)>& of) {
  table.number(title, [of](const Row& line) { return of(line).value; });
  table.number(title + "_error", [of](const Row& line) { return of(line).error; });
}

/// A curve over views for each name.
struct Curves {
  std::string title, note;
  std::optional<double> minimum = {}, maximum = {};
};

template <class Line>
std::string chart(const std::vector<const Line*>& lines, const Curves& curves,
                  const std::function<std::string(const Line&)>& name,
                  const std::function<std::int64_t(const Line&)>& x, const std::function<Measured(const Line&)>& y) {
  Chart chart{.title = curves.title,
              .note = curves.note,
              .x_name = "views",
              .minimum = curves.minimum,
              .maximum = curves.maximum,
              .points = true};
  for (const Line* line : lines) chart.x.push_back(static_cast<double>(x(*line)));
  std::ranges::sort(chart.x);
  chart.x.erase(std::unique(chart.x.begin(), chart.x.end()), chart.x.end());
  for (const Line* line : lines) {
    auto found = std::ranges::find(chart.series, name(*line), &Series::name);
    if (found == chart.series.end()) {
      const std::vector<double> unknown(chart.x.size(), kUnknown);
      found = chart.series.insert(found, Series{.name = name(*line), .y = unknown, .error = unknown});
    }
    const auto at = std::ranges::lower_bound(chart.x, static_cast<double>(x(*line))) - chart.x.begin();
    found->y[static_cast<std::size_t>(at)] = y(*line).value;
    found->error[static_cast<std::size_t>(at)] = kInterval * y(*line).error;
  }
  return svg_chart(chart);
}

std::string charts_of(const std::vector<const ExactLine*>& lines) {
  using Of = std::function<Measured(const ExactLine&)>;
  const auto draw = [&](const Curves& curves, const Of& of) {
    return chart<ExactLine>(
        lines, curves, [](const ExactLine& line) { return line.method; },
        [](const ExactLine& line) { return line.row.views; }, of);
  };
  return draw({"Cosine of the mean gradient", "and the exact one; bars: 95 %", {}, 1.0},
              [](const ExactLine& line) { return line.row.fidelity.cosine; }) +
         draw({"Norm ratio", "of the mean gradient to the exact one", 0.0},
              [](const ExactLine& line) { return line.row.fidelity.norm_ratio; }) +
         draw({"Bias", "distance of the mean gradient from the exact one / its norm", 0.0},
              [](const ExactLine& line) {
                return Measured{bias(line), kUnknown};
              }) +
         draw({"Variance", "of one draw / the exact gradient's square", 0.0},
              [](const ExactLine& line) { return line.row.fidelity.variance; }) +
         draw({"Signal to noise per 1,000 forwards", "", 0.0}, [](const ExactLine& line) {
           return Measured{1000 * line.signal_per_forward(), 1000 * line.signal_per_forward_error()};
         });
}

}  // namespace

TextTable shown_table(const std::vector<ExactLine>& lines) {
  ColumnTable<ExactLine> table(lines);
  table.text("method", &ExactLine::method)
      .text("decoder", &ExactLine::decoder)
      .number("views", [](const ExactLine& line) { return line.row.views; })
      .number("cosine", [](const ExactLine& line) { return with_error(line.row.fidelity.cosine); })
      .number("norm ratio", [](const ExactLine& line) { return with_error(line.row.fidelity.norm_ratio); })
      .number("bias (95 %)",
              [](const ExactLine& line) {
                return print_text("%.3f (%.3f to %.3f)", bias(line), bias_low(line), bias_high(line));
              })
      .number("variance", [](const ExactLine& line) { return with_error(line.row.fidelity.variance); })
      .number("cosine of a draw", [](const ExactLine& line) { return with_error(line.row.fidelity.draw_cosine); })
      .number(
          "contexts",
          [](const ExactLine& line) { return std::to_string(line.row.contexts) + (exceeds_steps(line) ? "*" : " "); })
      .number("forwards", [](const ExactLine& line) { return print_text("%.1f", line.row.forwards); })
      .number("SNR / 1000 forwards", [](const ExactLine& line) {
        return with_error(1000 * line.signal_per_forward(), 1000 * line.signal_per_forward_error());
      });
  return table.table();
}

std::string table_note(const std::vector<ExactLine>& lines) {
  if (std::ranges::none_of(lines, exceeds_steps)) return {};
  return "* more contexts than the response has denoising steps: the row does not show what so many are worth in a "
         "longer response, where more of them differ";
}

TextTable full_table(const std::vector<ExactLine>& lines) {
  ColumnTable<ExactLine> table(lines);
  table.text("method", &ExactLine::method)
      .text("decoder", &ExactLine::decoder)
      .number("views", [](const ExactLine& line) { return line.row.views; })
      .number("draws", [](const ExactLine& line) { return line.row.fidelity.draws; })
      .number("contexts", [](const ExactLine& line) { return line.row.contexts; })
      .number("steps", [](const ExactLine& line) { return line.row.steps; })
      .number("forwards", [](const ExactLine& line) { return line.row.forwards; })
      .number("bias", bias)
      .number("bias_low", bias_low)
      .number("bias_high", bias_high);
  const std::pair<const char*, Measured Fidelity::*> measures[] = {
      {"bias_square", &Fidelity::bias_square}, {"cosine", &Fidelity::cosine}, {"norm_ratio", &Fidelity::norm_ratio},
      {"variance", &Fidelity::variance},       {"signal", &Fidelity::signal}, {"draw_cosine", &Fidelity::draw_cosine}};
  for (const auto& [title, member] : measures) {
    add_measured<ExactLine>(table, title,
                            [member = member](const ExactLine& line) { return line.row.fidelity.*member; });
  }
  add_measured<ExactLine>(table, "signal_per_forward", [](const ExactLine& line) {
    return Measured{line.signal_per_forward(), line.signal_per_forward_error()};
  });
  return table.table();
}

std::string fidelity_page(const std::vector<ExactLine>& lines, const std::string& subtitle) {
  std::vector<std::string> decoders;
  for (const ExactLine& line : lines) {
    if (std::ranges::count(decoders, line.decoder) == 0) decoders.push_back(line.decoder);
  }
  std::string body;
  for (const std::string& decoder : decoders) {
    std::vector<const ExactLine*> of_decoder;
    for (const ExactLine& line : lines) {
      if (line.decoder == decoder) of_decoder.push_back(&line);
    }
    body += html_section("Decoder: " + decoder, charts_of(of_decoder), "charts");
  }
  const std::string note = table_note(lines);
  body += html_section("Table", to_html(shown_table(lines)) + (note.empty() ? "" : "<p>" + note + "</p>"), "card wide");
  return html_page("Fidelity of the policy gradient", subtitle, body);
}

TextTable shown_table(const std::vector<ReferenceLine>& lines) {
  ColumnTable<ReferenceLine> table(lines);
  table.text("method", &ReferenceLine::method)
      .text("part", [](const ReferenceLine& line) { return line.row.part; })
      .number("views", [](const ReferenceLine& line) { return line.row.views; })
      .number("rollouts", [](const ReferenceLine& line) { return line.row.cosine.count; })
      .number("cosine", [](const ReferenceLine& line) { return with_error(line.row.cosine); })
      .number("norm ratio", [](const ReferenceLine& line) { return with_error(line.row.norm_ratio); });
  return table.table();
}

TextTable full_table(const std::vector<ReferenceLine>& lines) {
  ColumnTable<ReferenceLine> table(lines);
  table.text("method", &ReferenceLine::method)
      .text("part", [](const ReferenceLine& line) { return line.row.part; })
      .number("views", [](const ReferenceLine& line) { return line.row.views; })
      .number("rollouts", [](const ReferenceLine& line) { return line.row.cosine.count; })
      .number("cosine", [](const ReferenceLine& line) { return line.row.cosine.mean; })
      .number("cosine_error", [](const ReferenceLine& line) { return line.row.cosine.error; })
      .number("norm_ratio", [](const ReferenceLine& line) { return line.row.norm_ratio.mean; })
      .number("norm_ratio_error", [](const ReferenceLine& line) { return line.row.norm_ratio.error; });
  return table.table();
}

std::string fidelity_page(const std::vector<ReferenceLine>& lines, const std::string& subtitle) {
  std::vector<std::string> methods;
  for (const ReferenceLine& line : lines) {
    if (std::ranges::count(methods, line.method) == 0) methods.push_back(line.method);
  }
  std::string charts;
  for (const std::string& method : methods) {
    std::vector<const ReferenceLine*> of_method;
    for (const ReferenceLine& line : lines) {
      if (line.method == method) of_method.push_back(&line);
    }
    charts += chart<ReferenceLine>(
        of_method, {"Cosine: " + method, "with the reference, by part of the model; bars: 95 %", {}, 1.0},
        [](const ReferenceLine& line) { return line.row.part; },
        [](const ReferenceLine& line) { return line.row.views; },
        [](const ReferenceLine& line) {
          return Measured{line.row.cosine.mean, line.row.cosine.error};
        });
  }
  const std::string body =
      html_section("Views", charts, "charts") + html_section("Table", to_html(shown_table(lines)), "card wide");
  return html_page("Fidelity of the policy gradient", subtitle, body);
}

}  // namespace drift
