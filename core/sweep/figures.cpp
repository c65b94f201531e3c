#include <core/sweep/figures.h>

#include <core/record/significance.h>
#include <core/report/column_table.h>
#include <core/report/plot.h>
#include <core/report/step_quantities.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace drift {
namespace {

constexpr std::size_t kCostPoints = 240;  // of a line that is drawn over a cost

/// One step at which some runs of a line know a measure.
struct CurvePoint {
  std::int64_t step = 0;
  Estimate value;  ///< over these runs
  RunCost cost;    ///< their mean; unknown if it is unknown of one of them
};

/// Of every line.
using LineCurves = std::vector<std::vector<CurvePoint>>;

/// What the runs know at one step.
struct AtStep {
  std::vector<double> values, forwards, seconds;
};

double mean_of_all(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<CurvePoint> curve_of(const RunLine& line, const StepQuantity& quantity) {
  std::map<std::int64_t, AtStep> steps;
  for (const ComparedRun& run : line.runs) {
    std::vector<double> values = values_of(run.record.metrics, quantity.metric, quantity.factor);
    if (quantity.noisy) values = moving_mean(values, smoothing_window(values.size()));  // single steps tell too little
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      AtStep& at = steps[run.record.metrics[i].step];
      at.values.push_back(values[i]);
      at.forwards.push_back(run.costs[i].forwards);
      at.seconds.push_back(run.costs[i].seconds);
    }
  }
  std::vector<CurvePoint> curve;
  for (const auto& [step, at] : steps)
    curve.push_back({step, estimate(at.values), {mean_of_all(at.forwards), mean_of_all(at.seconds)}});
  return curve;
}

LineCurves curves_of(const std::vector<RunLine>& lines, const StepQuantity& quantity) {
  LineCurves curves;
  for (const RunLine& line : lines) curves.push_back(curve_of(line, quantity));
  return curves;
}

/// Half of a band's height; unknown of a single seed.
double half_band(const Estimate& mean, Band band) {
  return band == Band::kError ? mean.error : student_half_width(mean);
}

/// Where the reward is right or wrong, its mean is the share of solved responses.
bool is_the_reward(const std::vector<RunLine>& lines) {
  return std::ranges::all_of(lines, [](const RunLine& line) {
    return std::ranges::all_of(line.runs, [](const ComparedRun& run) {
      return std::ranges::all_of(run.record.metrics, [](const StepRecord& step) {
        return std::isnan(step.value("solved")) || step.value("solved") == step.value("reward");
      });
    });
  });
}

struct Drawn {
  double y = kUnknown, low = kUnknown, high = kUnknown;
};

/// No band is where no value can be.
Drawn drawn(const CurvePoint& point, const StepQuantity& quantity, Band band) {
  const double half = half_band(point.value, band);
  Drawn drawn{point.value.mean, point.value.mean - half, point.value.mean + half};
  if (quantity.from_zero && drawn.low < 0) drawn.low = 0;
  if (quantity.most > 0 && drawn.high > quantity.most) drawn.high = quantity.most;
  return drawn;
}

void append(Series& series, const Drawn& drawn) {
  series.y.push_back(drawn.y);
  series.low.push_back(drawn.low);
  series.high.push_back(drawn.high);
}

/// Where the line goes at `x`, between its points; unknown before its first and behind its last.
Drawn between(const std::vector<double>& x, const std::vector<Drawn>& points, double at) {
  const auto behind = std::ranges::lower_bound(x, at);
  if (behind == x.end() || (behind == x.begin() && *behind != at)) return {};
  const auto right = static_cast<std::size_t>(behind - x.begin());
  if (*behind == at) return points[right];
  const double share = (at - x[right - 1]) / (x[right] - x[right - 1]);
  const auto mix = [&](double a, double b) { return a + share * (b - a); };
  const Drawn &a = points[right - 1], &b = points[right];
  return {mix(a.y, b.y), mix(a.low, b.low), mix(a.high, b.high)};
}

/// The x of all lines in one list: each that a line has, or evenly spaced ones if these would be too many.
std::vector<double> shared_x(const std::vector<std::vector<double>>& lines, bool evenly) {
  std::vector<double> all;
  for (const auto& line : lines) all.insert(all.end(), line.begin(), line.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (!evenly || all.size() <= kCostPoints) return all;
  std::vector<double> even;
  for (std::size_t i = 0; i <= kCostPoints; ++i)
    even.push_back(all.front() +
                   (all.back() - all.front()) * static_cast<double>(i) / static_cast<double>(kCostPoints));
  even.back() = all.back();
  return even;
}

TextTable data_of(const std::vector<RunLine>& lines, const LineCurves& curves, Band band) {
  struct Row {
    const RunLine* line;
    const CurvePoint* point;
    double half;
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const CurvePoint& point : curves[i]) rows.push_back({&lines[i], &point, half_band(point.value, band)});
  }
  ColumnTable table(rows);
  table.text("line", [](const Row& row) { return row.line->label; });
  table.number("step", [](const Row& row) { return row.point->step; });
  table.number("forwards", [](const Row& row) { return row.point->cost.forwards; });
  table.number("seconds", [](const Row& row) { return row.point->cost.seconds; });
  table.number("runs", [](const Row& row) { return row.point->value.count; });
  table.number("mean", [](const Row& row) { return row.point->value.mean; });
  table.number("standard_error", [](const Row& row) { return row.point->value.error; });
  table.number("band_low", [](const Row& row) { return row.point->value.mean - row.half; });
  table.number("band_high", [](const Row& row) { return row.point->value.mean + row.half; });
  return table.table();
}

/// One figure; the x of a point is what `x_of` says.
/// @param dense  lines are drawn between their points, which need not be at the same x
Chart draw_lines(const std::vector<RunLine>& lines, const LineCurves& curves, const StepQuantity& quantity, Band band,
                 const std::function<double(const CurvePoint&)>& x_of, bool dense) {
  Chart chart = quantity.chart();
  chart.noisy = false;  // every run's curve is smooth already
  std::vector<std::vector<double>> x;
  std::vector<std::vector<Drawn>> points;
  for (const auto& curve : curves) {
    x.emplace_back();
    points.emplace_back();
    for (const CurvePoint& point : curve) {
      // A cost that does not grow, or is not known, is no place on the axis.
      if (!std::isfinite(x_of(point)) || (!x.back().empty() && x_of(point) <= x.back().back())) continue;
      x.back().push_back(x_of(point));
      points.back().push_back(drawn(point, quantity, band));
    }
  }
  chart.x = shared_x(x, dense);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Series series{.name = lines[i].label};
    for (const double at : chart.x) {
      const bool is_there = std::ranges::binary_search(x[i], at);
      append(series, is_there || dense ? between(x[i], points[i], at) : Drawn{});
    }
    series.colour = i;  // the same in every figure
    chart.series.push_back(std::move(series));
  }
  return chart;
}

void add_if_known(std::vector<Figure>& figures, Figure figure) {
  if (!figure.chart.x.empty()) figures.push_back(std::move(figure));
}

}  // namespace

std::string band_text(Band band) {
  return band == Band::kError ? "the standard error of the mean over the seeds"
                              : "Student's 95 % interval of the mean over the seeds";
}

std::vector<Figure> step_figures(const std::vector<RunLine>& lines, Band band) {
  std::vector<Figure> figures;
  for (const StepQuantity& quantity : kStepQuantities) {
    const std::string file = quantity.file;
    if (file.empty() || (file == "solved" && is_the_reward(lines))) continue;
    const LineCurves curves = curves_of(lines, quantity);
    const auto step = [](const CurvePoint& point) { return static_cast<double>(point.step); };
    add_if_known(figures, {file, draw_lines(lines, curves, quantity, band, step, /*dense=*/false),
                           data_of(lines, curves, band)});
  }
  return figures;
}

std::vector<Figure> cost_figures(const std::vector<RunLine>& lines, Band band) {
  struct Cost {
    const char *name, *axis;
    double RunCost::*value;
  };
  constexpr Cost kCosts[] = {{"forwards", "forwards of the model so far", &RunCost::forwards},
                             {"seconds", "seconds of training so far", &RunCost::seconds}};
  std::vector<Figure> figures;
  for (const StepQuantity& quantity : kStepQuantities) {
    const std::string file = quantity.file;
    if (file != "held_out_accuracy" && file != "reward") continue;
    const LineCurves curves = curves_of(lines, quantity);
    for (const Cost& cost : kCosts) {
      const auto place = [&](const CurvePoint& point) { return point.cost.*cost.value; };
      Chart chart = draw_lines(lines, curves, quantity, band, place, !quantity.points);
      chart.x_name = cost.axis;
      chart.whole_x = false;
      add_if_known(figures, {file + "_by_" + cost.name, std::move(chart), data_of(lines, curves, band)});
    }
  }
  return figures;
}

}  // namespace drift
