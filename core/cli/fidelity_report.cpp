#include <core/cli/fidelity_report.h>

#include <core/report/column_table.h>
#include <core/report/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
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
void add_measured(ColumnTable<ExactLine>& table, const std::string& title,
                  const std::function<Measured(const ExactLine&)>& of) {
  table.number(title, [of](const ExactLine& line) { return of(line).value; });
  table.number(title + "_error", [of](const ExactLine& line) { return of(line).error; });
}

ColumnTable<ExactLine> exact_table(const std::vector<ExactLine>& lines) {
  ColumnTable<ExactLine> table(lines);
  return table.text("method", &ExactLine::method)
      .text("decoder", &ExactLine::decoder)
      .number("views", [](const ExactLine& line) { return line.row.views; });
}

ColumnTable<ReferenceLine> reference_table(const std::vector<ReferenceLine>& lines) {
  ColumnTable<ReferenceLine> table(lines);
  return table.text("method", &ReferenceLine::method)
      .text("part", [](const ReferenceLine& line) { return line.row.part; })
      .number("views", [](const ReferenceLine& line) { return line.row.views; })
      .number("rollouts", [](const ReferenceLine& line) { return line.row.cosine.count; });
}

}  // namespace

TextTable shown_table(const std::vector<ExactLine>& lines) {
  return exact_table(lines)
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
      .number("SNR / 1000 forwards",
              [](const ExactLine& line) {
                return with_error(1000 * line.signal_per_forward(), 1000 * line.signal_per_forward_error());
              })
      .table();
}

std::string table_note(const std::vector<ExactLine>& lines) {
  if (std::ranges::none_of(lines, exceeds_steps)) return {};
  return "* more contexts than the response has denoising steps: the row does not show what so many are worth in a "
         "longer response, where more of them differ";
}

TextTable full_table(const std::vector<ExactLine>& lines) {
  ColumnTable<ExactLine> table = exact_table(lines);
  table.number("draws", [](const ExactLine& line) { return line.row.fidelity.draws; })
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
    add_measured(table, title, [member = member](const ExactLine& line) { return line.row.fidelity.*member; });
  }
  add_measured(table, "signal_per_forward", [](const ExactLine& line) {
    return Measured{line.signal_per_forward(), line.signal_per_forward_error()};
  });
  return table.table();
}

TextTable shown_table(const std::vector<ReferenceLine>& lines) {
  return reference_table(lines)
      .number("cosine", [](const ReferenceLine& line) { return with_error(line.row.cosine); })
      .number("norm ratio", [](const ReferenceLine& line) { return with_error(line.row.norm_ratio); })
      .table();
}

TextTable full_table(const std::vector<ReferenceLine>& lines) {
  return reference_table(lines)
      .number("cosine", [](const ReferenceLine& line) { return line.row.cosine.mean; })
      .number("cosine_error", [](const ReferenceLine& line) { return line.row.cosine.error; })
      .number("norm_ratio", [](const ReferenceLine& line) { return line.row.norm_ratio.mean; })
      .number("norm_ratio_error", [](const ReferenceLine& line) { return line.row.norm_ratio.error; })
      .table();
}

}  // namespace drift
