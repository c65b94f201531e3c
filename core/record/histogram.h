#pragma once

#include <vector>

namespace drift {

/// How often values fall into bins of equal width.
struct Histogram {
  double smallest = 0, largest = 0;
  double sum = 0, sum_of_squares = 0;
  double count = 0;
  std::vector<double> edges;   ///< one more than there are bins
  std::vector<double> counts;  ///< of each bin; the last one has its upper edge
};

inline constexpr int kHistogramBins = 32;

/// Of the finite values; without bins if there are none.
Histogram histogram_of(const std::vector<double>& values);

}  // namespace drift
