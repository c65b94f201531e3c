#include <core/record/significance.h>

#include <drift/random.h>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>

namespace drift {

Interval wilson_interval(double share, double count) {
  static const double z = boost::math::quantile(boost::math::normal(), 0.975);
  const double square = z * z;
  const double divisor = 1 + square / count;
  const double centre = (share + square / (2 * count)) / divisor;
  const double half = z * std::sqrt(share * (1 - share) / count + square / (4 * count * count)) / divisor;
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

double mcnemar_p(std::int64_t only_first, std::int64_t only_second) {
  const auto total = static_cast<double>(only_first + only_second);
  if (total == 0) return 1;
  const boost::math::binomial_distribution<double> coin(total, 0.5);
  return std::min(1.0, 2 * boost::math::cdf(coin, static_cast<double>(std::min(only_first, only_second))));
}

double sign_flip_p(const std::vector<double>& differences, std::uint64_t seed, std::int64_t flips) {
  double seen = 0;
  for (const double difference : differences) seen += difference;
  // Differences are multiples of 1 / samples: what rounding adds must not make equal sums unequal.
  const double limit = std::abs(seen) - 1e-9;
  const RandomStream random(seed, "sign flips");
  std::int64_t as_far = 1;
  for (std::int64_t flip = 0; flip < flips; ++flip) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      const bool negative = random.uniform({flip, static_cast<std::int64_t>(i), 0, 0}) < 0.5;
      sum += negative ? -differences[i] : differences[i];
    }
    as_far += std::abs(sum) >= limit ? 1 : 0;
  }
  return static_cast<double>(as_far) / static_cast<double>(flips + 1);
}

double student_half_width(const Estimate& mean, double level) {
  if (mean.count < 2) return kUnknown;
  const boost::math::students_t_distribution<double> student(mean.count - 1);
  return boost::math::quantile(student, (1 + level) / 2) * mean.error;
}

TTest t_test(const Estimate& mean) {
  // What rounding leaves of a spread of equal differences is none.
  if (mean.count < 2 || !(mean.error > 1e-12 * std::abs(mean.mean))) return {};
  const double t = mean.mean / mean.error;
  const boost::math::students_t_distribution<double> student(mean.count - 1);
  return {t, 2 * boost::math::cdf(boost::math::complement(student, std::abs(t)))};
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> corrected(p.size(), kUnknown);
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(order.size() - rank) * p[order[rank]]));
    corrected[order[rank]] = largest;
  }
  return corrected;
}

}  // namespace drift
