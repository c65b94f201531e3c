#include "tests/support/support.h"

#include <drift/random.h>

#include <ATen/core/PhiloxRNGEngine.h>

#include <array>

namespace drift::random_test {

/// Key and counter as ATen takes them, lowest word first, and the four words.
struct KnownAnswer {
  std::uint64_t key, counter_23, counter_01;
  std::array<std::uint32_t, 4> words;
};

// Random123's tests/kat_vectors, lines "philox4x32 10".
TEST(Philox, OfAtenGivesThePublishedKnownAnswers) {
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  for (const auto& [key, counter_23, counter_01, words] : {
           KnownAnswer{0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
           KnownAnswer{kOnes, kOnes, kOnes, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
           KnownAnswer{0x299f31d0a4093822,
                       0x0370734413198a2e,
                       0x85a308d3243f6a88,
                       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
       }) {
    at::philox_engine philox(key, counter_23, counter_01);
    for (const std::uint32_t word : words) EXPECT_EQ(philox(), word);
  }
}

TEST(RandomStream, PlacesItsPointInTheCounter) {
  const RandomStream stream(7, "rollout");
  at::philox_engine philox(stream.key(), 3 | std::uint64_t{0xfffffffe} << 32, 0xffffffff | std::uint64_t{2} << 32);
  const std::uint64_t high = philox();
  EXPECT_EQ(stream.bits({0xffffffff, 2, 3, 0xfffffffe}), high << 32 | philox());
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

}  // namespace drift::random_test
