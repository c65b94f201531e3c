#include <core/record/histogram.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace drift {

Histogram histogram_of(const std::vector<double>& values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  Histogram histogram;
  if (finite.empty()) return histogram;
  const auto [smallest, largest] = std::ranges::minmax(finite);
  histogram.smallest = smallest;
  histogram.largest = largest;
  histogram.count = static_cast<double>(finite.size());
  // Equal values have a bin around them.
  const double begin = smallest < largest ? smallest : smallest - 0.5;
  const double end = smallest < largest ? largest : largest + 0.5;
  const double width = (end - begin) / kHistogramBins;
  histogram.counts.resize(kHistogramBins);
  for (int edge = 0; edge < kHistogramBins; ++edge) histogram.edges.push_back(begin + edge * width);
  histogram.edges.push_back(end);
  for (const double value : finite) {
    histogram.sum += value;
    histogram.sum_of_squares += value * value;
    const double bin = std::clamp(std::floor((value - begin) / width), 0.0, kHistogramBins - 1.0);
    ++histogram.counts[static_cast<std::size_t>(bin)];
  }
  return histogram;
}

}  // namespace drift
