#pragma once

// How sure an accuracy is, and whether two differ.

#include <core/record/estimate.h>

#include <cstdint>
#include <vector>

namespace drift {

struct Interval {
  double low = 0, high = 0;
};

/// Wilson's 95 % interval of a share (E. B. Wilson, 1927).
/// @param share  in [0, 1]
/// @param count  of independent trials, >= 1
Interval wilson_interval(double share, double count);

/// McNemar's test, exact and two-sided: of the items that only one side solved, each is on either side with
/// probability 1/2.
/// @return the p-value; 1 if there are none
double mcnemar_p(std::int64_t only_first, std::int64_t only_second);

/// Two-sided sign-flip test that paired differences have mean 0: the share of `flips` random sign patterns (and of the
/// one that was seen) whose mean is at least as far from 0. The same for the same seed.
double sign_flip_p(const std::vector<double>& differences, std::uint64_t seed, std::int64_t flips = 10'000);

/// Half length of Student's interval of a mean (Student, 1908): the estimate's error times the quantile of the t
/// distribution with count - 1 degrees of freedom. Unknown of fewer than two values.
double student_half_width(const Estimate& mean, double level = 0.95);

/// Student's t of the hypothesis that the mean is 0, with count - 1 degrees of freedom.
struct TTest {
  double t = kUnknown;
  double p = kUnknown;  ///< two-sided
};

/// Of paired differences: the paired t-test. Unknown of fewer than two values, and of values that are all equal: no
/// spread, no t.
TTest t_test(const Estimate& mean);

/// Holm's correction of several p-values for having looked at all of them (S. Holm, 1979): every one as large as it
/// must be so that those below a level are together wrong with at most that probability. Unknown ones stay so and do
/// not count.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace drift
