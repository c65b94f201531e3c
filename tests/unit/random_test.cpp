#include <drift/random.h>

#include <core/interface/philox.h>

#include <gtest/gtest.h>

#include <set>

namespace drift {
namespace {

struct KnownAnswer {
  std::array<std::uint32_t, 4> counter;
  std::array<std::uint32_t, 2> key;
  std::array<std::uint32_t, 4> words;
};

// Random123's tests/kat_vectors, lines "philox4x32 10".
TEST(Philox, GivesThePublishedKnownAnswers) {
  constexpr std::uint32_t kOnes = 0xffffffff;
  for (const auto& [counter, key, words] : {
           KnownAnswer{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
           KnownAnswer{{kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
           KnownAnswer{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0},
                       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
       }) {
    EXPECT_EQ(philox(counter, key), words);
  }
}

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
