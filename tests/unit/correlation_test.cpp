// Correlations against values that are known without a computer, or from the definition.

#include <core/record/correlation.h>

#include <gtest/gtest.h>

#include <cmath>

namespace drift::correlation_test {
namespace {

TEST(Correlation, OfALineIsOneOrMinusOne) {
  EXPECT_DOUBLE_EQ(pearson({1, 2, 4}, {3, 5, 9}), 1);
  EXPECT_DOUBLE_EQ(pearson({1, 2, 4}, {-3, -5, -9}), -1);
}

// Definition: covariance 4 / sqrt(5 * 4) with x = 1..4, y = 1, 3, 2, 4 has sum of products 4.
TEST(Correlation, OfAFewNumbers) {
  EXPECT_NEAR(pearson({1, 2, 3, 4}, {1, 3, 2, 4}), 4.0 / 5.0, 1e-12);
  EXPECT_NEAR(pearson({0, 0, 1, 1}, {0, 1, 1, 1}), 1 / std::sqrt(3.0), 1e-12);
}

TEST(Correlation, OfRanksSeesOrderAlone) {
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3, 4}, {1, 10, 100, 1e6}), 1);
  EXPECT_LT(pearson({1, 2, 3, 4}, {1, 10, 100, 1e6}), 0.9);
}

TEST(Correlation, EqualValuesShareTheirMeanRank) {
  // Ranks 0.5, 0.5, 2, 3 against 0, 1, 2, 3.
  EXPECT_NEAR(spearman({7, 7, 8, 9}, {1, 2, 3, 4}), pearson({0.5, 0.5, 2, 3}, {0, 1, 2, 3}), 1e-12);
}

TEST(Correlation, IsUnknownWhereNothingVaries) {
  EXPECT_TRUE(std::isnan(pearson({1, 1, 1}, {1, 2, 3})));
  EXPECT_TRUE(std::isnan(spearman({1, 2, 3}, {5, 5, 5})));
  EXPECT_TRUE(std::isnan(pearson({1}, {1})));
}

TEST(Quantiles, LieBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

}  // namespace
}  // namespace drift::correlation_test
