#pragma once

#include <vector>

namespace drift {

/// Pearson's correlation of two lists of the same length; unknown for fewer than two pairs or where one of them does
/// not vary.
double pearson(const std::vector<double>& x, const std::vector<double>& y);

/// Spearman's: Pearson's of the ranks. Equal values share their mean rank.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

/// The value below which this share of them lies, between neighbours by a straight line; unknown if there are none.
/// @param share  in [0, 1]
double quantile(std::vector<double> values, double share);

}  // namespace drift
