// What Coupled-GRPO promises for every batch, not only for the golden one.

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <ATen/ops/full_like.h>

namespace drift::coupled_grpo_properties_test {

using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<MaskingStrategy> masking(const Values& values = {}) {
  return test::create<MaskingStrategy>("coupled_grpo", "coupled_grpo", values);
}
std::unique_ptr<LossEstimator> loss(const Values& values = {}) {
  return test::create<LossEstimator>("coupled_grpo", "coupled_grpo", values);
}

MaskPlan draw(const MaskingStrategy& strategy, const Trajectories& trajectories, std::int64_t step = 0,
              std::int64_t inner_iteration = 0) {
  return test::draw_inner_plan(strategy, trajectories, step, inner_iteration);
}

TEST(CoupledGrpoMasking, EachPairScoresEveryPositionExactlyOnce) {
  const MaskPlan plan = draw(*masking({{"pairs", std::int64_t{2}}}), test::equal_trajectories(5, 40));
  for (const std::int64_t pair : {0, 1}) {
    for (std::int64_t b = 0; b < 5; ++b) {
      const auto first = test::numbers(plan.target_FL, test::find_view(plan, 1 + 2 * pair, b));
      const auto second = test::numbers(plan.target_FL, test::find_view(plan, 2 + 2 * pair, b));
      for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(first[i] + second[i], 1);
    }
  }
}

TEST(CoupledGrpoMasking, AllResponsesShareTAndMaskThatShare) {
  const auto strategy = masking();
  const auto trajectories = test::equal_trajectories(20, 200);
  std::set<double> seen;
  for (std::int64_t step = 0; step < 20; ++step) {
    const MaskPlan plan = draw(*strategy, trajectories, step);
    std::set<double> weights;
    double masked = 0;
    for (std::int64_t b = 0; b < 20; ++b) {
      const std::int64_t view = test::find_view(plan, 1, b);
      weights.insert(plan.weight_F[view].item<double>());
      masked += plan.masked_FL[view].sum().item<double>();
    }
    ASSERT_EQ(weights.size(), 1u);
    const double t = 1 / *weights.begin();
    EXPECT_GE(t, 0.2 - 1e-6);
    EXPECT_LE(t, 0.8 + 1e-6);
    EXPECT_NEAR(masked / 4000, t, 5 * 0.5 / std::sqrt(4000));
    seen.insert(t);
  }
  EXPECT_EQ(seen.size(), 20u) << "each step draws its own";
}

TEST(CoupledGrpoMasking, EveryOptimizerStepHasItsOwnMasksByDefault) {
  const auto trajectories = test::equal_trajectories(2, 30);
  EXPECT_EQ(masking()->refresh(), PlanRefresh::kEachInnerIteration);
  EXPECT_NE(test::views_of(draw(*masking(), trajectories, 0, 0), 1),
            test::views_of(draw(*masking(), trajectories, 0, 1), 1));
  const auto constant = masking({{"random_masking", false}});
  EXPECT_EQ(constant->refresh(), PlanRefresh::kOncePerRollout);
  EXPECT_EQ(test::views_of(draw(*constant, trajectories, 0, 0), 1),
            test::views_of(draw(*constant, trajectories, 4, 1), 1));
}

// lp0 = lp1 = lp2 = c gives c (1 + 1/t) / 2 in the first mask, c (1 + 1/(1 - t)) / 2 elsewhere.
TEST(CoupledGrpoLoss, AConstantLogProbabilityIsWeighedByTheMaskThatATokenIsIn) {
  constexpr double kT = 0.4, kC = -0.7;
  LossInput input =
      test::random_loss_input(draw(*masking({{"t_low", kT}, {"t_high", kT}}), test::equal_trajectories(6, 1)), 6);
  for (auto* log_probs : {&input.log_probs.current_FL, &input.log_probs.old_FL, &input.log_probs.reference_FL})
    *log_probs = at::full_like(*log_probs, kC);
  std::set<bool> seen;
  for (std::int64_t b = 0; b < 6; ++b) {
    const bool in_first = test::find_view(input.plan, 1, b) >= 0;
    const std::int64_t pair_view = test::find_view(input.plan, in_first ? 1 : 2, b);
    test::MetricTotal logged;
    logged.add(loss()->evaluate(test::select_views(input, {test::find_view(input.plan, 0, b), pair_view})),
               "weighted_logprob");
    EXPECT_NEAR(logged.value(), kC * (1 + 1 / (in_first ? kT : 1 - kT)) / 2, 1e-7);
    seen.insert(in_first);
  }
  EXPECT_EQ(seen.size(), 2u) << "both cases occur";
}

}  // namespace drift::coupled_grpo_properties_test
