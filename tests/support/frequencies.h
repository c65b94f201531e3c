#pragma once

#include "tests/support/support.h"

#include <boost/math/distributions/chi_squared.hpp>

#include <numeric>

namespace drift::test {

/// Fails unless `counts` may be draws from `probabilities`: Pearson's statistic is below the 0.999 quantile of
/// chi-square, and nothing impossible was drawn. Cells with fewer than 5 expected draws count as one.
inline void expect_frequencies(const std::vector<std::int64_t>& counts, const std::vector<double>& probabilities) {
  ASSERT_EQ(counts.size(), probabilities.size());
  const auto draws = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  const double total = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  double statistic = 0, rare_expected = 0, rare_count = 0;
  int cells = 0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = draws * probabilities[i] / total;
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << "impossible: " << i;
    }
    if (expected < 5) {
      rare_expected += expected;
      rare_count += static_cast<double>(counts[i]);
    } else {
      add(static_cast<double>(counts[i]), expected);
    }
  }
  if (rare_expected >= 5) add(rare_count, rare_expected);
  ASSERT_GE(cells, 2) << "too few draws to say anything";
  EXPECT_LT(statistic, boost::math::quantile(boost::math::chi_squared(cells - 1), 0.999)) << cells << " cells";
}

}  // namespace drift::test
