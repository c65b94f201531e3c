// What RLDF's loss promises for every batch, not only for the golden one.

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <numeric>

namespace drift::rldf_loss_properties_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<LossEstimator> rldf(const Values& values) {
  return test::create<LossEstimator>("rldf", "rldf", values);
}
Parameter::Value text(const char* value) { return std::string(value); }

/// Six responses, one of them without a view; views of a random plan; random policies.
LossInput random_input(std::int64_t inner_iterations = 1, const Values& masking = {}) {
  const auto trajectories = test::random_trajectories(6, 8, 4);
  Values values = masking;
  values.insert({"k", std::int64_t{3}});
  LossInput input;
  input.plan = test::draw_plan(*test::create<MaskingStrategy>("rldf", "rldf", values), trajectories);
  const auto& target = input.plan.target_FL;
  input.log_probs = {test::random_log_probs(target, 1), test::random_log_probs(target, 2),
                     test::random_log_probs(target, 3), -test::random_log_probs(target, 4),
                     -test::random_log_probs(target, 5)};
  input.advantage_B = test::vector_tensor({1.5, -0.5, 0.25, -1, 2, -0.75});
  input.valid_BL = trajectories.valid_BL;
  input.totals = {6, 3, input.plan.terms, target.sum().item<std::int64_t>(), inner_iterations};
  return input;
}

/// One response of tokens with these ratios of current to old.
LossInput ratios(const std::vector<double>& log_ratio, double advantage) {
  const auto length = static_cast<std::int64_t>(log_ratio.size());
  LossInput input;
  input.plan.response_F = input.plan.term_F = at::zeros({1}, at::kLong);
  input.plan.masked_FL = input.plan.target_FL = at::ones({1, length}, at::kBool);
  input.plan.terms = 1;
  input.log_probs.current_FL = test::matrix_tensor({log_ratio});
  input.log_probs.old_FL = at::zeros_like(input.log_probs.current_FL);
  input.advantage_B = test::vector_tensor({advantage});
  input.valid_BL = input.plan.target_FL;
  input.totals = {1, 1, 1, length, /*inner_iterations=*/2};
  return input;
}

Values clip(double low, double high) {
  return {{"low_prob_threshold", 0.0}, {"beta", 0.0}, {"eps_low", low}, {"eps_high", high}};
}

TEST(RldfLoss, WithUnchangedWeightsTheRatioFormHasTheGradientOfReinforce) {
  for (const char* norm : {"sample", "token"}) {
    const auto loss = rldf({{"norm", text(norm)}});
    LossInput reinforce = random_input(1);
    reinforce.log_probs.old_FL = reinforce.log_probs.current_FL;
    LossInput ratio = random_input(2);
    ratio.log_probs.old_FL = ratio.log_probs.current_FL;
    EXPECT_THAT(test::gradient(*loss, ratio), Pointwise(DoubleNear(1e-14), test::gradient(*loss, reinforce)));
    EXPECT_NE(loss->evaluate(ratio).value.item<double>(), loss->evaluate(reinforce).value.item<double>())
        << "-A, not -A lp";
  }
}

TEST(RldfLoss, TheGradientAccumulatedOverForwardsIsTheGradientOfTheirSum) {
  for (const char* norm : {"sample", "token"}) {
    const auto loss = rldf({{"norm", text(norm)}});
    const LossInput input = random_input();
    const auto whole = test::gradient(*loss, input);
    std::vector<double> accumulated(whole.size(), 0.0);
    for (std::int64_t forward = 0; forward < input.plan.terms; ++forward) {
      std::vector<std::int64_t> views;
      for (std::int64_t view = 0; view < input.plan.response_F.size(0); ++view) {
        if (input.plan.term_F[view].item<std::int64_t>() == forward) views.push_back(view);
      }
      const auto part = test::gradient(*loss, test::select_views(input, views));
      for (std::size_t i = 0; i < part.size(); ++i)
        accumulated[static_cast<std::size_t>(views[i / 8]) * 8 + i % 8] += part[i];
    }
    EXPECT_THAT(accumulated, Pointwise(DoubleNear(1e-14), whole)) << norm;
  }
  EXPECT_EQ(rldf({{"norm", text("token")}})->coupling(), Coupling::kBatch);
}

TEST(RldfLoss, ResponsesWithoutAViewCountOnlyInTheMeanOverResponses) {
  LossInput input = random_input();
  const auto value = [&](const char* norm, std::int64_t responses) {
    input.totals.responses = responses;
    return rldf({{"norm", text(norm)}})->evaluate(input).value.item<double>();
  };
  EXPECT_NEAR(value("sample", 12), value("sample", 6) / 2, 1e-15);
  EXPECT_EQ(value("token", 12), value("token", 6));
}

TEST(RldfLoss, AThresholdAboveOneScoresEveryValidTokenOnce) {
  LossInput input = random_input(1, {{"k", std::int64_t{16}}, {"short_trajectory", text("truncate")}});
  const Loss evaluated = rldf({{"low_prob_threshold", 2.0}})->evaluate(input);
  test::MetricTotal utility;
  utility.add(evaluated, "token_utility");
  EXPECT_NEAR(utility.sum, test::numbers(input.valid_BL.sum())[0], 1e-12);
  EXPECT_NEAR(utility.value(), 1.0 / 16, 1e-12);
  EXPECT_THAT(test::gradient(*rldf({{"low_prob_threshold", 2.0}, {"keep_decoded", false}}), input), Each(0.0));
}

TEST(RldfLoss, TheFilterReadsTheCurrentPolicyOrTheOldOne) {
  LossInput input = ratios({std::log(0.9)}, 1);  // current 0.9
  input.log_probs.old_FL = at::full_like(input.log_probs.current_FL, std::log(0.1));
  input.plan.committed_FL = at::zeros_like(input.plan.target_FL);
  const auto kept = [&](const char* filter_on, std::int64_t inner_iterations) {
    input.totals.optimizer_steps = inner_iterations;
    test::MetricTotal utility;
    utility.add(rldf({{"low_prob_threshold", 0.5}, {"beta", 0.0}, {"filter_on", text(filter_on)}})->evaluate(input),
                "token_utility");
    return utility.sum == 1;
  };
  EXPECT_TRUE(kept("auto", 1));
  EXPECT_FALSE(kept("auto", 2));
  EXPECT_TRUE(kept("current", 2));
  EXPECT_FALSE(kept("old", 1));
}

TEST(RldfLoss, TheClipStopsTheGradientOnlyWhereItIsActive) {
  const double up = std::log(2.0), down = std::log(0.5);
  for (const double advantage : {1.0, -1.0}) {
    const auto grad = test::gradient(*rldf(clip(0.2, 0.2)), ratios({up, down, 0}, advantage));
    EXPECT_NEAR(grad[0], advantage > 0 ? 0 : 2.0 / 3, 1e-12);
    EXPECT_NEAR(grad[1], advantage > 0 ? -0.5 / 3 : 0, 1e-12);
    EXPECT_NEAR(grad[2], -advantage / 3, 1e-12);
  }
}

TEST(RldfLoss, TheBoundsOfTheClipAreItsOwn) {
  // 1.4 is beyond 1 + 0.3 but not beyond 1 + 0.5; 0.6 beyond 1 - 0.3 but not beyond 1 - 0.5.
  const LossInput above = ratios({std::log(1.4)}, 1);
  const LossInput below = ratios({std::log(0.6)}, -1);
  EXPECT_NEAR(test::gradient(*rldf(clip(0.5, 0.3)), above).front(), 0, 1e-12);
  EXPECT_NEAR(test::gradient(*rldf(clip(0.3, 0.5)), above).front(), -1.4, 1e-12);
  EXPECT_NEAR(test::gradient(*rldf(clip(0.5, 0.3)), below).front(), 0.6, 1e-12);
  EXPECT_NEAR(test::gradient(*rldf(clip(0.3, 0.5)), below).front(), 0, 1e-12);
}

TEST(RldfLoss, AViewsWeightMultipliesItsShare) {
  LossInput input = random_input();
  input.plan.weight_F = at::Tensor();
  for (const char* norm : {"sample", "token"}) {
    const auto loss = rldf({{"norm", text(norm)}});
    const auto plain = test::gradient(*loss, input);
    LossInput weighted = input;
    weighted.plan.weight_F = at::ones({input.plan.response_F.size(0)});
    weighted.plan.weight_F[2] = 3;
    auto expected = plain;
    for (std::size_t i = 2 * 8; i < 3 * 8; ++i) expected[i] *= 3;
    EXPECT_THAT(test::gradient(*loss, weighted), Pointwise(DoubleNear(1e-14), expected)) << norm;
  }
}

TEST(RldfLoss, ExactlyOnABoundTheFullGradientPasses) {
  ASSERT_EQ(std::exp(std::log(1.5)), 1.5);
  ASSERT_EQ(std::exp(std::log(0.5)), 0.5);
  EXPECT_NEAR(test::gradient(*rldf(clip(0.5, 0.5)), ratios({std::log(1.5)}, 1)).front(), -1.5, 1e-12);
  EXPECT_NEAR(test::gradient(*rldf(clip(0.5, 0.5)), ratios({std::log(0.5)}, -1)).front(), 0.5, 1e-12);
  EXPECT_NEAR(test::gradient(*rldf(clip(0, 0)), ratios({0}, 1)).front(), -1, 1e-12);
}

TEST(RldfLoss, TheClipFractionCountsWhereTheClipIsActive) {
  const auto fraction = [](double advantage) {
    test::MetricTotal clipped;
    clipped.add(rldf(clip(0.2, 0.3))->evaluate(ratios({std::log(2.0), std::log(1.4), std::log(0.5), 0}, advantage)),
                "clip_fraction");
    return clipped.value();
  };
  EXPECT_EQ(fraction(1), 0.5);
  EXPECT_EQ(fraction(-1), 0.25);
  EXPECT_EQ(fraction(0), 0);
  const Loss once = rldf({})->evaluate(random_input(1));
  for (const LossMetric& metric : once.metrics) EXPECT_NE(metric.name, "clip_fraction") << "no ratio, nothing to clip";
}

TEST(RldfLoss, DroppedTokensGiveNoInfinityEvenWithoutABoundOnTheRatio) {
  LossInput input = random_input(1);
  input.plan.committed_FL = at::zeros_like(input.plan.target_FL);
  input.log_probs.current_FL.select(1, 0).fill_(-1e4);
  const auto loss = rldf({{"logratio_clamp", std::numeric_limits<double>::infinity()}, {"low_prob_threshold", 0.2}});
  for (const double g : test::gradient(*loss, input)) ASSERT_TRUE(std::isfinite(g));
}

TEST(RldfLoss, OnlyTheCurrentPolicyIsDifferentiated) {
  LossInput input = random_input(2);
  input.log_probs.current_FL.requires_grad_();
  input.log_probs.old_FL.requires_grad_();
  input.log_probs.reference_FL.requires_grad_();
  rldf({})->evaluate(input).value.backward();
  EXPECT_TRUE(input.log_probs.current_FL.grad().defined());
  EXPECT_FALSE(input.log_probs.old_FL.grad().defined());
  EXPECT_FALSE(input.log_probs.reference_FL.grad().defined());
}

TEST(RldfLoss, AsksForAReferenceAndEntropiesOnlyWhereATermUsesThem) {
  const auto needs = [](const Values& values) {
    LossNeeds asked;
    rldf(values)->needs(asked);
    return std::pair{asked.reference, asked.entropy};
  };
  EXPECT_EQ(needs({{"beta", 0.0}}), (std::pair{false, false}));
  EXPECT_EQ(needs({{"beta", 0.01}}), (std::pair{true, false}));
  EXPECT_EQ(needs({{"beta", 0.0}, {"entropy_coefficient", 0.1}}), (std::pair{true, true}));
  EXPECT_EQ(needs({{"beta", 0.0}, {"entropy_coefficient", 0.1}, {"entropy_mode", text("absolute")}}),
            (std::pair{false, true}));
}

TEST(RldfLoss, WithoutAReferenceThereIsNoKl) {
  LossInput input = random_input();
  input.log_probs.reference_FL = at::Tensor();
  for (const LossMetric& metric : rldf({{"beta", 0.0}})->evaluate(input).metrics) EXPECT_NE(metric.name, "kl");
}

}  // namespace drift::rldf_loss_properties_test
