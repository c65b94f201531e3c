// What SPG's plans and loss promise for every batch (docs/spec/further_algorithms.md 7).

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <drift/error.h>

#include <ATen/TensorIndexing.h>
#include <ATen/ops/full_like.h>

namespace drift::spg_properties_test {

using Values = std::map<std::string, Parameter::Value>;

constexpr std::int64_t kEnd = 9;
constexpr std::int64_t kPrompt = 5;

Parameter::Value text(const char* value) { return std::string(value); }
std::unique_ptr<MaskingStrategy> masking(Values values = {}) {
  values.insert({"block", std::int64_t{4}});
  return test::create<MaskingStrategy>("spg", "spg", values);
}
std::unique_ptr<LossEstimator> loss(const Values& values = {}) {
  return test::create<LossEstimator>("spg", "spg", values);
}

/// Three blocks of four: 12, 7 and 2 tokens through the end.
Trajectories rollout() {
  return test::token_trajectories({{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4},
                                   {1, 2, 3, 4, 5, 6, kEnd, kEnd, 1, 2, 3, 4},
                                   {1, kEnd, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4}},
                                  kPrompt);
}
const std::vector<std::int64_t> kValid = {12, 7, 2};

MaskPlan plan_of(const MaskingStrategy& strategy, const Trajectories& trajectories, std::int64_t step = 0,
                 std::int64_t inner_iteration = 0) {
  MaskingInput input = test::masking_input(trajectories);
  input.end_id = kEnd;
  input.step = step;
  input.inner_iteration = inner_iteration;
  return test::draw_plan(strategy, input);
}

/// Calls visit(view, response) for all views of many draws.
template <class Visit>
void for_each_draw(const Values& values, Visit visit) {
  const auto strategy = masking(values);
  const auto trajectories = rollout();
  for (std::int64_t step = 0; step < 200; ++step) {
    const MaskPlan plan = plan_of(*strategy, trajectories, step);
    for (std::int64_t f = 0; f < plan.response_F.size(0); ++f) visit(plan, f, plan.response_F[f].item<std::int64_t>());
  }
}

std::vector<bool> row(const at::Tensor& tensor, std::int64_t view) {
  const auto values = test::numbers(tensor, view);
  return {values.begin(), values.end()};
}

TEST(SpgMasking, TargetsAreTheMaskedValidTokensAndWhatFollowsTheEndIsMasked) {
  for (const char* mode : {"block_random", "block_all", "random", "all"}) {
    for_each_draw({{"mode", text(mode)}}, [&](const MaskPlan& plan, std::int64_t f, std::int64_t b) {
      const auto masked = row(plan.masked_FL, f), target = row(plan.target_FL, f);
      double targets = 0;
      for (std::int64_t i = 0; i < 12; ++i) {
        EXPECT_EQ(target[i], masked[i] && i < kValid[b]) << mode;
        if (i >= kValid[b]) EXPECT_TRUE(masked[i]) << mode;
        targets += target[i];
      }
      ASSERT_GE(targets, 1) << mode;
      const double weight = plan.weight_F.defined() ? plan.weight_F[f].item<double>() : 1;
      EXPECT_NEAR(weight, static_cast<double>(kValid[b]) / targets, 1e-6) << mode << ": 1 / t_hat";
    });
  }
}

TEST(SpgMasking, BlockModesMaskFromARandomBlockOn) {
  for (const char* mode : {"block_random", "block_all"}) {
    std::set<std::pair<std::int64_t, std::int64_t>> first_masked_block;
    for_each_draw(
        {{"mode", text(mode)}, {"p_mask_prompt", 0.0}}, [&](const MaskPlan& plan, std::int64_t f, std::int64_t b) {
          const auto target = row(plan.target_FL, f);
          std::int64_t block = 0;
          while (std::none_of(target.begin() + 4 * block, target.begin() + 4 * block + 4, [](bool one) { return one; }))
            ++block;
          first_masked_block.insert({b, block});
          const std::int64_t random_end = std::string(mode) == "block_all" ? 4 * block : 4 * block + 4;
          for (std::int64_t i = random_end; i < kValid[b]; ++i) EXPECT_TRUE(target[i]) << mode;
        });
    using Seen = std::set<std::pair<std::int64_t, std::int64_t>>;
    EXPECT_EQ(first_masked_block, (Seen{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 0}}))
        << mode << ": blocks after the end do not count";
  }
}

TEST(SpgMasking, TheTwoCopiesTakeDifferentBlocksWhereThereAreSome) {
  const auto strategy = masking({{"mode", text("block_all")}, {"p_mask_prompt", 0.0}});
  const auto trajectories = rollout();
  for (std::int64_t step = 0; step < 50; ++step) {
    const MaskPlan plan = plan_of(*strategy, trajectories, step);
    const auto of_first = plan.masked_FL.index({plan.response_F == 0}).sum(1);
    EXPECT_NE(of_first[0].item<std::int64_t>(), of_first[1].item<std::int64_t>());
  }
}

TEST(SpgMasking, TheNumberOfMaskedTokensLiesBetweenMinTAndMaxT) {
  std::set<double> all, middle;
  const auto count = [](std::set<double>& counts) {
    return [&](const MaskPlan& plan, std::int64_t f, std::int64_t b) {
      if (b == 0) counts.insert(test::numbers(plan.target_FL[f].sum())[0]);
    };
  };
  for_each_draw({{"mode", text("random")}}, count(all));
  for_each_draw({{"mode", text("random")}, {"min_t", 0.25}, {"max_t", 0.5}}, count(middle));
  EXPECT_EQ(all, (std::set<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(middle, (std::set<double>{3, 4, 5, 6}));
  EXPECT_THROW(masking({{"min_t", 0.7}, {"max_t", 0.3}}), Error);
}

TEST(SpgMasking, WhatIsVisibleIsMaskedWithAProbability) {
  double prompt = 0, prompts = 0, earlier = 0, earliers = 0;
  for_each_draw({{"mode", text("block_all")}}, [&](const MaskPlan& plan, std::int64_t f, std::int64_t) {
    if (plan.prompt_masked_FP.defined()) prompt += test::numbers(plan.prompt_masked_FP[f].sum())[0];
    prompts += kPrompt;
  });
  // Of the response with 7 valid tokens: where block 1 was drawn, block 0 was visible.
  for_each_draw({{"mode", text("block_all")}}, [&](const MaskPlan& plan, std::int64_t f, std::int64_t b) {
    const double masked = test::numbers(plan.masked_FL[f].slice(0, 0, 4).sum())[0];
    if (b != 1 || masked == 4) return;  // block 0 was drawn, or all of it happened to be masked
    earlier += masked;
    earliers += 4;
  });
  EXPECT_NEAR(prompt / prompts, 0.15, 0.02);
  EXPECT_NEAR(earlier / earliers, 0.15, 0.04);
  for_each_draw(
      {{"mode", text("random")}, {"p_mask_prompt", 0.0}},
      [](const MaskPlan& plan, std::int64_t, std::int64_t) { EXPECT_FALSE(plan.prompt_masked_FP.defined()); });
}

TEST(SpgMasking, EachInnerIterationDrawsAnewAndAResponseDependsOnItAlone) {
  const auto strategy = masking();
  EXPECT_EQ(strategy->refresh(), PlanRefresh::kEachInnerIteration);
  const auto trajectories = rollout();
  EXPECT_NE(test::views_of(plan_of(*strategy, trajectories, 0, 0), 0),
            test::views_of(plan_of(*strategy, trajectories, 0, 1), 0));
  const auto alone = test::select_responses(trajectories, {1});
  MaskingInput input = test::masking_input(alone);
  input.end_id = kEnd;
  input.response_number_B = at::full_like(input.response_number_B, 1);
  EXPECT_EQ(test::views_of(test::draw_plan(*strategy, input), 0), test::views_of(plan_of(*strategy, trajectories), 1));
}

LossInput random_input() {
  LossInput input;
  input.plan = plan_of(*masking(), rollout());
  input.log_probs.current_FL = input.log_probs.old_FL = test::random_log_probs(input.plan.target_FL, 1);
  input.advantage_B = test::vector_tensor({0.75, -0.5, -0.25});
  input.valid_BL = at::full_like(rollout().valid_BL, true);
  test::fill_totals(input, 3, 4);
  return input;
}

double value(const Values& values, const LossInput& input) {
  return loss(values)->evaluate(input).value.item<double>();
}

TEST(SpgLoss, ResponsesAreWeighedByTheirValidLengthScoredOrNot) {
  // The weights of the plan's views say n = 12, 7, 2; the copies do not score every token.
  LossInput input = random_input();
  input.log_probs.current_FL = at::full_like(input.log_probs.current_FL, -1.0);
  EXPECT_NEAR(value({{"negative", text("elbo")}}, input), (0.75 * 12 - 0.5 * 7 - 0.25 * 2) / 21, 1e-6);
  EXPECT_NEAR(value({{"negative", text("zero")}}, input), 0.75 * 12 / 21, 1e-6);
  EXPECT_NEAR(value({{"negative", text("elbo")}, {"micro_batch", std::int64_t{2}}}, input),
              ((0.75 * 12 - 0.5 * 7) / 19 - 0.25) / 2, 1e-6);
}

TEST(SpgLoss, WithEverythingMaskedTheUpperBoundIsAboveTheLowerOne) {
  // All tokens masked in both copies, p alike in both: both bounds are the log-likelihood itself.
  LossInput input;
  input.plan = plan_of(*masking({{"mode", text("all")}}), rollout());
  input.log_probs.current_FL = at::full_like(test::random_log_probs(input.plan.target_FL, 1), -0.7);
  input.advantage_B = test::vector_tensor({-1, -1, -1});
  input.valid_BL = rollout().valid_BL;
  test::fill_totals(input, 3, 1);
  EXPECT_NEAR(value({{"negative", text("eubo")}}, input), -0.7, 1e-9);
  EXPECT_NEAR(value({{"negative", text("elbo")}}, input), -0.7, 1e-9);
  // A copy that finds a token likelier raises the upper bound by more than the lower one (Jensen).
  input.log_probs.current_FL = input.log_probs.current_FL.clone();
  input.log_probs.current_FL.index_put_({0}, -0.1);
  EXPECT_GT(value({{"negative", text("eubo")}}, input), value({{"negative", text("elbo")}}, input));
}

}  // namespace drift::spg_properties_test
