#include <core/sweep/line_curve.h>

#include <core/record/significance.h>
#include <core/report/svg_chart.h>

#include <cmath>
#include <map>

namespace drift {
namespace {

/// What the runs know at one step.
struct AtStep {
  std::vector<double> values, forwards, seconds;
};

/// One a step; a moving mean where single steps tell too little.
std::vector<double> values_of(const ComparedRun& run, const Quantity& quantity) {
  std::vector<double> values;
  for (const StepRecord& step : run.record.metrics) values.push_back(quantity.value(step));
  return quantity.noisy ? moving_mean(values, smoothing_window(values.size())) : values;
}

/// Unknown if it is unknown of one of them.
double mean_of_all(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

std::string band_text(Band band) {
  return band == Band::kError ? "the standard error of the mean over the seeds"
                              : "Student's 95 % interval of the mean over the seeds";
}

double half_band(const Estimate& mean, Band band) {
  return band == Band::kError ? mean.error : student_half_width(mean);
}

LineCurve curve_of(const RunLine& line, const Quantity& quantity) {
  std::map<std::int64_t, AtStep> steps;
  for (const ComparedRun& run : line.runs) {
    const std::vector<double> values = values_of(run, quantity);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      AtStep& at = steps[run.record.metrics[i].step];
      at.values.push_back(values[i]);
      at.forwards.push_back(run.costs[i].forwards);
      at.seconds.push_back(run.costs[i].seconds);
    }
  }
  LineCurve curve;
  for (const auto& [step, at] : steps)
    curve.push_back({step, estimate(at.values), {mean_of_all(at.forwards), mean_of_all(at.seconds)}});
  return curve;
}

}  // namespace drift
