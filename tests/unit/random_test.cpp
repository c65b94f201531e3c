#include <drift/random.h>

#include <gtest/gtest.h>

#include <set>

namespace drift {
namespace {

TEST(RandomStream, IsAPureFunctionOfSeedNameAndPoint) {
  const RandomStream stream(7, "rollout");
  const RandomPoint point{3, 5, 7, 11};
  const double value = stream.uniform(point);
  stream.uniform({0, 0, 0, 0});
  EXPECT_EQ(value, RandomStream(7, "rollout").uniform(point));
  EXPECT_NE(value, RandomStream(8, "rollout").uniform(point));
  EXPECT_NE(value, RandomStream(7, "rollouu").uniform(point));
  EXPECT_NE(value, stream.child("x").uniform(point));
}

TEST(RandomStream, EveryFieldOfThePointMatters) {
  const RandomStream stream(1, "s");
  std::set<std::uint64_t> values;
  for (int i = 0; i < 100; ++i) {
    values.insert(stream.bits({i, 0, 0, 0}));
    values.insert(stream.bits({0, i + 1, 0, 0}));
    values.insert(stream.bits({0, 0, i + 1, 0}));
    values.insert(stream.bits({0, 0, 0, i + 1}));
  }
  EXPECT_EQ(values.size(), 400u);
}

TEST(RandomStream, UniformHasTheRightMeanAndVariance) {
  const RandomStream stream(1, "s");
  const int n = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = stream.uniform({0, i, 0, 0});
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n - sum * sum / n / n, 1.0 / 12, 0.002);
}

TEST(RandomStream, BelowCoversItsRangeEvenly) {
  const RandomStream stream(1, "s");
  int counts[7] = {};
  for (int i = 0; i < 70000; ++i) ++counts[stream.below(7, {i, 0, 0, 0})];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
}

}  // namespace
}  // namespace drift
