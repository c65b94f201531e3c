// What TraceRL's plans and loss promise for every batch (docs/spec/tracerl.md 5.2, 5.5; docs/spec/algorithms.md 10).

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <drift/error.h>

#include <ATen/TensorIndexing.h>

namespace drift::tracerl_properties_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<MaskingStrategy> masking(const char* name, const Values& values = {}) {
  return test::create<MaskingStrategy>("tracerl", name, values);
}
std::unique_ptr<MaskingStrategy> slices(std::int64_t shrink, std::int64_t post_num = 0) {
  return masking("tracerl", {{"shrink", shrink}, {"post_num", post_num}});
}
std::unique_ptr<LossEstimator> loss(const Values& values) {
  return test::create<LossEstimator>("tracerl", "tracerl", values);
}
Parameter::Value text(const char* value) { return std::string(value); }

constexpr std::int64_t kResponses = 7, kLength = 12;
Trajectories rollout() { return test::random_trajectories(kResponses, kLength, 5); }

/// The plan's rows of one response.
at::Tensor rows_of(const at::Tensor& tensor, const MaskPlan& plan, std::int64_t response) {
  return tensor.index({plan.response_F == response});
}

TEST(TracerlMasking, ASliceOfAllStepsIsOneViewWithEverythingMasked) {
  const auto trajectories = rollout();
  for (const std::int64_t shrink : {kLength, std::int64_t{1} << 40}) {
    const MaskPlan plan = test::draw_plan(*slices(shrink), trajectories);
    EXPECT_EQ(plan.terms, 1);
    EXPECT_EQ(plan.response_F.size(0), kResponses - 1) << "one response has nothing but padding";
    EXPECT_TRUE(plan.masked_FL.all().item<bool>());
    EXPECT_TRUE(plan.target_FL.equal(trajectories.valid_BL.index_select(0, plan.response_F)));
  }
}

TEST(TracerlMasking, SingleStepsScoreEachTokenInTheStateThatCommittedIt) {
  const auto trajectories = rollout();
  const MaskPlan plan = test::draw_plan(*slices(1), trajectories);
  const auto step_FL = trajectories.step_BL.index_select(0, plan.response_F);
  const auto at_F1 = test::vector_tensor(test::shown_steps(plan, trajectories)).unsqueeze(1);
  EXPECT_TRUE(plan.target_FL.equal((step_FL == at_F1) & trajectories.valid_BL.index_select(0, plan.response_F)));
  EXPECT_TRUE(plan.masked_FL.equal((step_FL >= at_F1) | (step_FL < 0)));
  EXPECT_TRUE(plan.committed_FL.equal(plan.target_FL));
}

TEST(TracerlMasking, EveryTokenIsScoredOnceWhateverTheSlices) {
  const auto trajectories = rollout();
  for (const std::int64_t shrink : {1, 2, 3, 5, 100}) {
    const MaskPlan plan = test::draw_plan(*slices(shrink), trajectories);
    EXPECT_FALSE((plan.target_FL & plan.masked_FL.logical_not()).any().item<bool>()) << "only masked tokens are scored";
    std::int64_t most_views = 0;
    for (std::int64_t b = 0; b < kResponses; ++b) {
      const auto targets = rows_of(plan.target_FL, plan, b);
      EXPECT_EQ(test::numbers(targets.sum(0)), test::numbers(trajectories.valid_BL, b));
      EXPECT_THAT(test::numbers(targets.any(1)), Each(1)) << "no view without a target";
      const auto steps = test::numbers(trajectories.step_BL, b);
      const auto distinct = std::set<double>(steps.begin(), steps.end()).size();
      EXPECT_LE(targets.size(0), std::ceil(static_cast<double>(distinct) / static_cast<double>(shrink)));
      most_views = std::max(most_views, targets.size(0));
    }
    EXPECT_EQ(plan.terms, most_views);
  }
}

TEST(TracerlMasking, PaddingIsScoredAsFarAsPostNumSays) {
  const test::ResponseRow padded = {{0, 1, 2, 3, 4, -1}, {1, 0, 1, 0, 0, 0}, std::vector<double>(6, .5)};
  const auto trajectories = test::make_trajectories({padded});
  for (const char* name : {"tracerl", "tracerl_random"}) {
    const auto scored = [&](std::int64_t post_num) {
      return test::numbers(test::draw_plan(*masking(name, {{"post_num", post_num}}), trajectories).target_FL.any(0));
    };
    EXPECT_THAT(scored(0), ElementsAre(1, 0, 1, 0, 0, 0)) << name;
    EXPECT_THAT(scored(1), ElementsAre(1, 1, 1, 0, 0, 0)) << name;
    EXPECT_THAT(scored(2), ElementsAre(1, 1, 1, 1, 0, 0)) << name;
    EXPECT_THAT(scored(-1), ElementsAre(1, 1, 1, 1, 1, 0))
        << name << ": a position that was never committed is not a token";
  }
}

// Not of the response's: a view may select the second and third only.
TEST(TracerlMasking, WithBlocksPostNumCountsThePaddingThatAViewSelects) {
  const test::ResponseRow padded = {std::vector<double>(8, 0), {1, 1, 0, 0, 0, 0, 0, 0}, std::vector<double>(8, .5)};
  const auto trajectories = test::make_trajectories({padded});
  MaskingInput input = test::masking_input(trajectories);
  input.block_size = 4;
  const auto plan = test::draw_plan(
      *masking("tracerl_random", {{"mask_times", std::int64_t{20}}, {"post_num", std::int64_t{1}}}), input);
  const auto pads_FL = plan.masked_FL.slice(1, 2), scored_FL = plan.target_FL.slice(1, 2);
  EXPECT_TRUE(scored_FL.equal(pads_FL & (pads_FL.cumsum(1) <= 1)));
  EXPECT_GT(scored_FL.any(0).sum().item<std::int64_t>(), 1);
}

TEST(TracerlRandomMasking, MasksEveryTokenWithTheProbabilityThatItsViewDrew) {
  const test::ResponseRow long_response = {std::vector<double>(400, 0), std::vector<double>(400, 1),
                                           std::vector<double>(400, .5)};
  const auto trajectories = test::make_trajectories({long_response});
  const auto plan = test::draw_plan(*masking("tracerl_random", {{"mask_times", std::int64_t{300}}}), trajectories);
  const auto share_F = plan.masked_FL.to(at::kDouble).mean(1);
  EXPECT_EQ(plan.terms, 300);
  EXPECT_GT(share_F.min().item<double>(), 0.03);
  EXPECT_LT(share_F.min().item<double>(), 0.15);
  EXPECT_LT(share_F.max().item<double>(), 0.97);
  EXPECT_GT(share_F.max().item<double>(), 0.85);
  EXPECT_NEAR(share_F.mean().item<double>(), 0.5, 0.06);  // four standard errors of U(0.1, 0.9)
  EXPECT_TRUE(plan.target_FL.equal(plan.masked_FL));
  EXPECT_THROW(masking("tracerl_random", {{"lower_p", 0.7}, {"upper_p", 0.3}}), Error);
}

TEST(TracerlRandomMasking, TailPaddingIsAlwaysMaskedAndNeverScored) {
  const auto trajectories = rollout();
  for (const char* name : {"tracerl_random", "tracerl_coupled"}) {
    const MaskPlan plan = test::draw_plan(*masking(name), trajectories);
    const auto padding_FL = trajectories.valid_BL.index_select(0, plan.response_F).logical_not();
    EXPECT_TRUE(plan.masked_FL.equal(plan.target_FL | padding_FL)) << name;
    EXPECT_FALSE((plan.target_FL & padding_FL).any().item<bool>()) << name;
    EXPECT_THAT(test::numbers(plan.target_FL.any(1)), Each(1)) << name;
  }
}

TEST(TracerlCoupledMasking, TheTwoViewsOfAMaskShareTheTokens) {
  const auto trajectories = rollout();
  const auto strategy = masking("tracerl_coupled", {{"mask_times", std::int64_t{6}}});
  const MaskPlan plan = test::draw_plan(*strategy, trajectories);
  EXPECT_EQ(plan.terms, 12);
  for (std::int64_t b = 0; b < kResponses; ++b) {
    for (std::int64_t m = 0; m < 6; ++m) {
      const auto pair = plan.target_FL.index({(plan.response_F == b) & (plan.term_F.floor_divide(2) == m)});
      if (pair.size(0) == 0) continue;
      EXPECT_EQ(test::numbers(pair.sum(0)), test::numbers(trajectories.valid_BL, b));
    }
  }
}

/// Random policies on the slices of a random rollout.
LossInput random_input() {
  const auto trajectories = rollout();
  LossInput input;
  input.plan = test::draw_plan(*slices(2), trajectories);
  input.log_probs.current_FL = test::random_log_probs(input.plan.target_FL, 1);
  input.log_probs.old_FL = test::random_log_probs(input.plan.target_FL, 2);
  input.log_probs.reference_FL = test::random_log_probs(input.plan.target_FL, 3);
  input.advantage_B = test::vector_tensor({1.5, -0.5, 0.25, -1, 2, -0.75, 0.5});
  input.valid_BL = trajectories.valid_BL;
  test::fill_totals(input, kResponses, 4);
  return input;
}

double value(const Values& values, const LossInput& input) {
  return loss(values)->evaluate(input).value.item<double>();
}

TEST(TracerlLoss, RowsCountTheSameOrResponsesDo) {
  // At unchanged weights a view's loss is -A: one response with three views, one with a single view.
  LossInput input;
  input.plan.response_F = test::vector_tensor({0, 0, 0, 1}).to(at::kLong);
  input.plan.term_F = at::zeros({4}, at::kLong);
  input.plan.masked_FL = input.plan.target_FL = at::ones({4, 2}, at::kBool);
  input.plan.terms = 3;
  input.log_probs.current_FL = input.log_probs.old_FL = at::zeros({4, 2}, at::kDouble);
  input.advantage_B = test::vector_tensor({1, 10});
  input.valid_BL = at::ones({2, 2}, at::kBool);
  input.totals = {.responses = 2, .group_size = 2, .terms = 3, .targets = 8, .views = 4};
  EXPECT_NEAR(value({}, input), -(3 * 1 + 10) / 4.0, 1e-12);
  EXPECT_NEAR(value({{"weighting", text("response")}}, input), -(1 + 10) / 2.0, 1e-12);
  EXPECT_NEAR(value({{"norm", text("length")}}, input), -(3 * 1 + 10) / 4.0, 1e-12);

  input.plan.weight_F = test::vector_tensor({2, 1, 1, 1});
  EXPECT_NEAR(value({}, input), -(4 * 1 + 10) / 4.0, 1e-12);
}

TEST(TracerlLoss, ViewsWithoutATargetAddNothing) {
  LossInput input = random_input();
  const auto before = value({}, input);
  input.plan.target_FL = input.plan.target_FL.clone();
  input.plan.target_FL.index_put_({2}, false);
  const auto grad = test::gradient(*loss({}), input);
  EXPECT_NE(value({}, input), before);
  EXPECT_THAT(std::vector<double>(grad.begin() + 2 * kLength, grad.begin() + 3 * kLength), Each(0.0));
}

}  // namespace drift::tracerl_properties_test
