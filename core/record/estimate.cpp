#include <core/record/estimate.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace drift {

Estimate estimate(const std::vector<double>& values) {
  Estimate result;
  double sum = 0;
  for (const double value : values) {
    if (!std::isnan(value)) sum += value, ++result.count;
  }
  if (result.count == 0) return result;
  result.mean = sum / result.count;
  if (result.count == 1) return result;
  double squares = 0;
  for (const double value : values) {
    if (!std::isnan(value)) squares += (value - result.mean) * (value - result.mean);
  }
  result.error = std::sqrt(squares / (result.count - 1) / result.count);
  return result;
}

Estimate paired_difference(const std::map<std::int64_t, double>& values,
                           const std::map<std::int64_t, double>& baseline) {
  std::vector<double> differences;
  for (const auto& [seed, value] : values) {
    if (const auto other = baseline.find(seed); other != baseline.end()) differences.push_back(value - other->second);
  }
  return estimate(differences);
}

double mean_of_known(std::span<const double> values) {
  double sum = 0;
  int known = 0;
  for (const double value : values) {
    if (std::isfinite(value)) sum += value, ++known;
  }
  return known > 0 ? sum / known : kUnknown;
}

double mean_of_last_tenth(const std::vector<double>& values) {
  const std::size_t count = std::max<std::size_t>(1, values.size() / 10);
  return estimate({values.end() - static_cast<std::ptrdiff_t>(std::min(count, values.size())), values.end()}).mean;
}

}  // namespace drift
