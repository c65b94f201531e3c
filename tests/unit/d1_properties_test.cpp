// What d1 promises for every batch, not only for the golden one.

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <ATen/ops/ones.h>

namespace drift::d1_properties_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<MaskingStrategy> masking(const Values& values = {}) {
  return test::create<MaskingStrategy>("d1", "d1", values);
}
std::unique_ptr<LossEstimator> loss(const Values& values = {}) {
  return test::create<LossEstimator>("d1", "d1", values);
}
Parameter::Value text(const char* value) { return std::string(value); }

/// Six responses of eight tokens that end early, late or not at all, with prompts of ten tokens.
Trajectories responses() {
  return test::token_trajectories({{1, 2, 3, 9, 9, 9, 9, 9},
                                   {1, 2, 3, 4, 5, 6, 7, 8},
                                   {9, 9, 9, 9, 9, 9, 9, 9},
                                   {3, 4, 5, 6, 7, 9, 1, 9},
                                   {1, 1, 1, 1, 1, 1, 1, 9},
                                   {2, 9, 2, 2, 2, 2, 2, 2}},
                                  10);
}

MaskPlan draw(const MaskingStrategy& strategy, const Trajectories& trajectories, std::int64_t step = 0,
              std::int64_t inner_iteration = 0, std::uint64_t seed = 1) {
  MaskingInput input = test::masking_input(trajectories, seed);
  input.step = step;
  input.inner_iteration = inner_iteration;
  input.end_id = 9;
  return test::draw_plan(strategy, input);
}

TEST(D1Masking, APlanDoesNotDependOnTheBatchAroundAResponseNorOnItsPadding) {
  const auto all = responses();
  const std::vector<std::int64_t> some = {4, 1};
  auto part = test::select_responses(all, some);
  part.prompts.tokens_BP = part.prompts.tokens_BP.narrow(1, 3, 7).contiguous();  // three columns of padding less
  MaskingInput input = test::masking_input(part);
  input.step = 5;
  input.end_id = 9;
  input.response_number_B = test::vector_tensor({4, 1}).to(at::kLong);
  const MaskPlan alone = test::draw_plan(*masking({{"p_mask_prompt", 0.5}}), input);
  const MaskPlan together = draw(*masking({{"p_mask_prompt", 0.5}}), all, 5);
  for (std::int64_t b = 0; b < 2; ++b) {
    EXPECT_EQ(test::numbers(alone.target_FL, b), test::numbers(together.target_FL, some[b]));
    EXPECT_EQ(test::numbers(alone.prompt_masked_FP, b),
              test::numbers(together.prompt_masked_FP.narrow(1, 3, 7), some[b]));
  }
}

TEST(D1Masking, EveryOptimizerStepOfARolloutHasItsOwnPromptMasks) {
  const auto strategy = masking({{"p_mask_prompt", 0.5}});
  EXPECT_EQ(strategy->refresh(), PlanRefresh::kEachInnerIteration);
  const auto plan = draw(*strategy, responses());
  EXPECT_EQ(test::views_of(plan, 0), test::views_of(draw(*strategy, responses()), 0));
  EXPECT_NE(test::views_of(plan, 0), test::views_of(draw(*strategy, responses(), 0, 1), 0)) << "inner iteration";
  EXPECT_NE(test::views_of(plan, 0), test::views_of(draw(*strategy, responses(), 1, 0), 0)) << "step";
  EXPECT_NE(test::views_of(plan, 0), test::views_of(draw(*strategy, responses(), 0, 0, 2), 0)) << "seed";
  EXPECT_NE(test::numbers(plan.prompt_masked_FP, 0), test::numbers(plan.prompt_masked_FP, 1)) << "response";
}

TEST(D1Masking, WithoutRandomMaskingEveryRolloutHasTheSameMasks) {
  const auto strategy = masking({{"p_mask_prompt", 0.5}, {"random_masking", false}});
  EXPECT_EQ(strategy->refresh(), PlanRefresh::kOncePerRollout);
  const auto plan = draw(*strategy, responses(), 1);
  EXPECT_EQ(test::views_of(plan, 0), test::views_of(draw(*strategy, responses(), 2, 3), 0));
}

TEST(D1Masking, PromptTokensAreMaskedAsOftenAsAsked) {
  const auto trajectories = test::token_trajectories(std::vector<std::vector<std::int64_t>>(100, {1}), 100);
  const MaskPlan plan = draw(*masking({{"p_mask_prompt", 0.15}}), trajectories);
  const double share = plan.prompt_masked_FP.to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(share, 0.15, 4 * std::sqrt(0.15 * 0.85 / 1e4));  // four standard errors
  EXPECT_THAT(test::numbers(draw(*masking({{"p_mask_prompt", 1.0}}), trajectories).prompt_masked_FP), Each(1));
}

TEST(D1Masking, WithTheWholePromptShownItIsAllMasking) {
  const auto full = test::token_trajectories({{1, 2, 3}, {4, 5, 6}}, 5);  // no end token: the valid masks agree as well
  const auto strategy = masking({{"p_mask_prompt", 0.0}});
  EXPECT_EQ(strategy->refresh(), PlanRefresh::kOncePerRollout) << "nothing is drawn";
  const MaskPlan plan = draw(*strategy, full);
  EXPECT_FALSE(plan.prompt_masked_FP.defined());
  const MaskPlan all = draw(*test::create<MaskingStrategy>("rldf", "all_masking"), full);
  for (std::int64_t b = 0; b < 2; ++b) EXPECT_EQ(test::views_of(plan, b), test::views_of(all, b));

  // Unchanged weights, no KL, the same mean: d1's gradient is that of REINFORCE on those views.
  for (const auto& [norm, rldf_norm] : {std::pair{"token", "token"}, std::pair{"sample", "sample"}}) {
    LossInput input = test::random_loss_input(plan, 2);
    input.log_probs.old_FL = input.log_probs.current_FL;
    const auto reinforce = test::create<LossEstimator>(
        "rldf", "rldf",
        {{"form", text("reinforce")}, {"low_prob_threshold", 0.0}, {"beta", 0.0}, {"norm", text(rldf_norm)}});
    EXPECT_THAT(test::gradient(*loss({{"beta", 0.0}, {"norm", text(norm)}}), input),
                Pointwise(DoubleNear(1e-14), test::gradient(*reinforce, input)));
  }
}

TEST(D1Loss, SeveralViewsOfATokenCountAsOne) {
  const LossInput once = test::random_loss_input(draw(*masking(), responses()), 6);
  LossInput twice = test::select_views(once, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  test::fill_totals(twice, 3, 2);
  for (const char* norm : {"token", "sample", "length"}) {
    const auto estimator = loss({{"norm", text(norm)}});
    EXPECT_NEAR(estimator->evaluate(twice).value.item<double>(), estimator->evaluate(once).value.item<double>(), 1e-14);
  }
}

TEST(D1Loss, AViewsWeightMultipliesItsShare) {
  LossInput input = test::random_loss_input(draw(*masking(), responses()), 6);
  const auto plain = test::gradient(*loss(), input);
  input.plan.weight_F = at::ones({6});
  input.plan.weight_F[2] = 3;
  auto expected = plain;
  for (std::size_t i = 2 * 8; i < 3 * 8; ++i) expected[i] *= 3;
  EXPECT_THAT(test::gradient(*loss(), input), Pointwise(DoubleNear(1e-14), expected));
}

// The port in dllm hides what follows the end; the original attends to it.
TEST(D1Masking, WhatFollowsTheEndCanBeHiddenFromAttention) {
  const auto trajectories = responses();
  EXPECT_FALSE(draw(*test::create<MaskingStrategy>("d1", "d1"), trajectories).attended_FL.defined());
  const auto hiding = draw(*test::create<MaskingStrategy>("d1", "d1", {{"mask_post_eos_keys", true}}), trajectories);
  EXPECT_EQ(test::numbers(hiding.attended_FL, 0), (std::vector<double>{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(test::numbers(hiding.attended_FL, 1), (std::vector<double>(8, 1)));
  EXPECT_EQ(test::numbers(hiding.attended_FL), test::numbers(hiding.target_FL));
}

}  // namespace drift::d1_properties_test
