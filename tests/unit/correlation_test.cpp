// Correlations against values that are known without a computer, or from the definition.

#include "tests/support/support.h"

#include <core/record/correlation.h>

namespace drift::correlation_test {

TEST(Correlation, IsThatOfTheDefinitionAndUnknownWhereNothingVaries) {
  EXPECT_DOUBLE_EQ(pearson({1, 2, 4}, {3, 5, 9}), 1);
  EXPECT_DOUBLE_EQ(pearson({1, 2, 4}, {-3, -5, -9}), -1);
  // Definition: covariance 4 / sqrt(5 * 4) with x = 1..4, y = 1, 3, 2, 4 has sum of products 4.
  EXPECT_NEAR(pearson({1, 2, 3, 4}, {1, 3, 2, 4}), 4.0 / 5.0, 1e-12);
  EXPECT_NEAR(pearson({0, 0, 1, 1}, {0, 1, 1, 1}), 1 / std::sqrt(3.0), 1e-12);
  EXPECT_TRUE(std::isnan(pearson({1, 1, 1}, {1, 2, 3})));
  EXPECT_TRUE(std::isnan(spearman({1, 2, 3}, {5, 5, 5})));
  EXPECT_TRUE(std::isnan(pearson({1}, {1})));
}

TEST(Correlation, OfRanksSeesOrderAloneAndEqualValuesShareTheirMeanRank) {
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3, 4}, {1, 10, 100, 1e6}), 1);
  EXPECT_LT(pearson({1, 2, 3, 4}, {1, 10, 100, 1e6}), 0.9);
  // Ranks 0.5, 0.5, 2, 3 against 0, 1, 2, 3.
  EXPECT_NEAR(spearman({7, 7, 8, 9}, {1, 2, 3, 4}), pearson({0.5, 0.5, 2, 3}, {0, 1, 2, 3}), 1e-12);
}

TEST(Quantiles, LieBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

}  // namespace drift::correlation_test
