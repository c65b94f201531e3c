#include <core/report/step_quantities.h>

#include <core/report/html.h>

#include <algorithm>

namespace drift {

Chart StepQuantity::chart() const {
  Chart chart{.title = title, .unit = unit, .noisy = noisy, .points = points};
  if (from_zero && !points) chart.minimum = 0;
  if (most > 0 && !points) chart.maximum = most;
  return chart;
}

std::vector<double> values_of(const std::vector<StepRecord>& steps, std::string_view metric, double factor) {
  std::vector<double> values;
  for (const StepRecord& step : steps) values.push_back(factor * step.value(metric));
  return values;
}

std::vector<double> step_numbers(const std::vector<StepRecord>& steps) {
  std::vector<double> numbers;
  for (const StepRecord& step : steps) numbers.push_back(static_cast<double>(step.step));
  return numbers;
}

Chart metric_chart(const std::vector<StepRecord>& steps, const std::string& metric) {
  const auto known = std::ranges::find(kStepQuantities, metric, &StepQuantity::metric);
  const bool is_known = known != kStepQuantities.end();
  Chart chart = is_known ? known->chart() : Chart{.title = spoken_name(metric), .noisy = true};
  chart.x = step_numbers(steps);
  chart.series = {{.name = spoken_name(metric), .y = values_of(steps, metric, is_known ? known->factor : 1)}};
  return chart;
}

}  // namespace drift
