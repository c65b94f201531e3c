#pragma once

#include <core/base/unknown.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace drift {

/// A mean of some values. Unknown values are NaN.
struct Estimate {
  double mean = kUnknown;
  double error = kUnknown;  ///< standard error; one value has none
  int count = 0;            ///< values that were known
};

/// Mean and standard error (sample standard deviation / sqrt(n)) of the values that are not NaN.
Estimate estimate(const std::vector<double>& values);

/// The same of the differences value - baseline, seed by seed, over the seeds that both have.
Estimate paired_difference(const std::map<std::int64_t, double>& values,
                           const std::map<std::int64_t, double>& baseline);

/// Mean of those of the values that are finite; unknown if none is.
double mean_of_known(std::span<const double> values);

/// Mean of the last tenth of the values (at least one of them) that are not NaN.
double mean_of_last_tenth(const std::vector<double>& values);

}  // namespace drift
