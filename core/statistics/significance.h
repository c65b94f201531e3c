#pragma once

// How sure an accuracy is, and whether two differ.

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

}  // namespace drift
