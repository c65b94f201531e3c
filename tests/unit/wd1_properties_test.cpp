// What wd1's loss promises for every batch (docs/spec/further_algorithms.md 7).

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"

#include <ATen/TensorIndexing.h>
#include <gmock/gmock.h>

namespace drift::wd1_properties_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<LossEstimator> loss(const Values& values = {}) {
  return test::create<LossEstimator>("wd1", "wd1", values);
}

/// Eight responses in groups of four, everything masked and scored through their valid tokens.
LossInput random_input() {
  const auto trajectories = test::random_trajectories(8, 6, 3);
  LossInput input;
  input.plan = test::draw_plan(*test::create<MaskingStrategy>("rldf", "all_masking"), trajectories);
  input.log_probs.current_FL = input.log_probs.old_FL = test::random_log_probs(input.plan.target_FL, 1);
  input.advantage_B = test::vector_tensor({1, -1, 0.5, -0.5, 0, 0, 0, 0});
  input.valid_BL = trajectories.valid_BL;
  test::fill_totals(input, 4, 12);
  return input;
}

double value(const Values& values, const LossInput& input) {
  return loss(values)->evaluate(input).value.item<double>();
}

TEST(Wd1Loss, AGroupOfEqualRewardsTeachesNothingUnlessLikelihoodsAreOnlyRaised) {
  const LossInput input = random_input();
  const auto second_group = [&](bool positive_only) {
    const auto grad = test::gradient(*loss({{"positive_only", positive_only}}), input);
    std::vector<double> of_group;
    for (std::int64_t f = 0; f < input.plan.response_F.size(0); ++f) {
      if (input.plan.response_F[f].item<std::int64_t>() < 4) continue;
      for (std::int64_t i = 0; i < 6; ++i) {
        if (input.plan.target_FL[f][i].item<bool>()) of_group.push_back(grad[static_cast<std::size_t>(f * 6 + i)]);
      }
    }
    return of_group;
  };
  EXPECT_THAT(second_group(false), Each(0.0));
  EXPECT_THAT(second_group(true), Each(DoubleNear(-0.25 / 2, 1e-12))) << "1 / G, averaged over two micro-batches";
}

TEST(Wd1Loss, MicroBatchesAreAveraged) {
  LossInput input = random_input();
  const double by_group = value({}, input);
  EXPECT_NEAR(value({{"micro_batch", std::int64_t{4}}}, input), by_group, 1e-12);
  std::vector<std::int64_t> views;
  for (std::int64_t f = 0; f < input.plan.response_F.size(0); ++f) {
    if (input.plan.response_F[f].item<std::int64_t>() < 4) views.push_back(f);
  }
  LossInput first_group = test::select_views(input, views);
  first_group.advantage_B = input.advantage_B.narrow(0, 0, 4);
  first_group.totals.responses = 4;
  EXPECT_NEAR(value({}, first_group) / 2, by_group, 1e-12);
}

}  // namespace drift::wd1_properties_test
