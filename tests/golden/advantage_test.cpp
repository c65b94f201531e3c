#include "tests/support/golden_cases.h"
#include "tests/support/rollouts.h"

#include <core/train/advantage.h>

#include <gmock/gmock.h>

namespace drift::advantage_test {

using namespace testing;

AdvantageSettings settings_of(const test::GoldenCase& golden) {
  const std::string deviation = golden.settings.at("std");
  AdvantageSettings settings;
  settings.baseline =
      golden.settings.at("baseline") == "mean" ? AdvantageBaseline::kMean : AdvantageBaseline::kLeaveOneOut;
  settings.deviation = deviation == "none"     ? AdvantageDeviation::kNone
                       : deviation == "sample" ? AdvantageDeviation::kSample
                                               : AdvantageDeviation::kPopulation;
  settings.floor = std::stod(golden.settings.at("floor"));
  settings.epsilon = std::stod(golden.settings.at("epsilon"));
  return settings;
}

TEST(Advantage, EveryNormalisationGivesItsGoldenValues) {
  for (const auto& golden : test::read_golden_cases("advantage.txt")) {
    if (golden.name == "deviations") continue;
    SCOPED_TRACE(golden.name);
    std::vector<double> rewards, expected;
    for (int group = 0; golden.has("rewards_" + std::to_string(group)); ++group) {  // all groups in one batch
      const auto& r = golden.row("rewards_" + std::to_string(group));
      const auto& a = golden.row("advantage_" + std::to_string(group));
      rewards.insert(rewards.end(), r.begin(), r.end());
      expected.insert(expected.end(), a.begin(), a.end());
    }
    const auto advantage_B = advantages(test::vector_tensor(rewards), 4, settings_of(golden));
    EXPECT_EQ(advantage_B.scalar_type(), at::kFloat);
    EXPECT_THAT(test::numbers(advantage_B), Pointwise(DoubleNear(1e-6), expected));
  }
}

TEST(Advantage, TheDeviationsAreTheGoldenOnes) {
  const auto cases = test::read_golden_cases("advantage.txt");
  const auto& golden = test::find_case(cases, "deviations");
  for (int group = 0; group < 3; ++group) {
    const auto& rewards = cases.front().row("rewards_" + std::to_string(group));
    const double difference = rewards.front() - (rewards[0] + rewards[1] + rewards[2] + rewards[3]) / 4;
    if (difference == 0) continue;
    const auto first = [&](AdvantageDeviation deviation) {
      return advantages(test::vector_tensor(rewards), 4, {AdvantageBaseline::kMean, deviation, 0, 0})[0].item<double>();
    };
    EXPECT_NEAR(difference / first(AdvantageDeviation::kPopulation), golden.row("population")[group], 1e-7);
    EXPECT_NEAR(difference / first(AdvantageDeviation::kSample), golden.row("sample")[group], 1e-7);
  }
}

TEST(Advantage, EqualRewardsAndAGroupOfOneGiveExactlyZero) {
  // The mean of three times 0.1 is not 0.1 in floating point.
  const auto advantage_B = advantages(test::vector_tensor({0.1, 0.1, 0.1}), 3,
                                      {AdvantageBaseline::kMean, AdvantageDeviation::kPopulation, 0, 0});
  EXPECT_THAT(test::numbers(advantage_B), Each(0.0));
  for (const auto baseline : {AdvantageBaseline::kMean, AdvantageBaseline::kLeaveOneOut}) {
    EXPECT_THAT(
        test::numbers(advantages(test::vector_tensor({1, 0}), 1, {baseline, AdvantageDeviation::kSample, 0, 0})),
        Each(0.0));
  }
}

TEST(Advantage, GroupsDoNotMix) {
  const AdvantageSettings settings;
  const auto both = test::numbers(advantages(test::vector_tensor({1, 0, 1, 5, 9, 2}), 3, settings));
  const auto second = test::numbers(advantages(test::vector_tensor({5, 9, 2}), 3, settings));
  EXPECT_EQ(std::vector<double>(both.begin() + 3, both.end()), second);
}

}  // namespace drift::advantage_test
