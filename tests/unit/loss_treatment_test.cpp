// What the core can say of a loss's treatment of each token, whatever the loss is.

#include <core/update/policy_update.h>

#include "tests/support/alone.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"
#include "tests/support/updates.h"

#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/minimum.h>

#include <gtest/gtest.h>

namespace drift::loss_treatment_test {

constexpr std::int64_t kVocabulary = 11, kResponses = 4, kLength = 6;

/// PPO's bound on the ratio, so narrow that one optimizer step reaches it. Response 0 counts for nothing.
class ClippingLoss final : public LossEstimator {
 public:
  Coupling coupling() const override { return Coupling::kView; }
  Loss evaluate(const LossInput& input) const override {
    const auto counts_F1 = (input.plan.response_F != 0).unsqueeze(1);
    const auto ratio_FL = at::exp(input.log_probs.current_FL - input.log_probs.old_FL);
    const auto advantage_F1 = input.advantage_F1();
    const auto bounded_FL = at::clamp(ratio_FL, 1 - 1e-6, 1 + 1e-6) * advantage_F1;
    return input.token_mean(-at::minimum(ratio_FL * advantage_F1, bounded_FL) * counts_F1);
  }
};

struct Treated {
  MaskPlan plan;
  LossTreatment treatment;
};

/// One view of each response, all of which is masked and scored.
Treated treat(const PolicyUpdateSettings& changed) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const auto responses = test::make_trajectories(kResponses, 2, 4, kLength, kVocabulary, 2);
  MaskPlan plan;
  plan.terms = 1;
  plan.response_F = at::arange(kResponses, at::kLong);
  plan.term_F = at::zeros_like(plan.response_F);
  plan.masked_FL = at::ones_like(responses.valid_BL);
  plan.target_FL = responses.valid_BL;
  PolicyUpdateSettings settings = changed;
  settings.group_size = 2;
  settings.memory_budget = std::int64_t{1} << 30;
  Optimizer optimizer(test::alone, model.parameters(), test::constant_adamw(0.01));
  const Loaded<LossEstimator> loss(std::make_unique<ClippingLoss>(), "clipping");
  std::vector<LossTreatment> treatments;
  PolicyUpdate(test::alone, model, loss, nullptr, optimizer, settings)
      .run(responses, {plan}, at::arange(kResponses, at::kFloat) - 1.5F, {}, &treatments);
  EXPECT_EQ(treatments.size(), 1u);
  return {plan, treatments.front()};
}

std::int64_t count(const at::Tensor& tensor) { return tensor.sum().item<std::int64_t>(); }

TEST(LossTreatment, SlopesAreThoseOfTheScoredTokens) {
  const auto [plan, treatment] = treat({});
  EXPECT_EQ(count(treatment.steps_F), kResponses) << "each view is used once";
  const auto moved = treatment.gradient_FL != 0;
  EXPECT_TRUE(at::equal(moved.narrow(0, 1, 3), plan.target_FL.narrow(0, 1, 3)));
  // A negative advantage pushes a token down: its log-probability rises with the loss.
  EXPECT_TRUE((treatment.gradient_FL[1] >= 0).all().item<bool>());
  EXPECT_TRUE((treatment.gradient_FL[3] <= 0).all().item<bool>());
}

TEST(LossTreatment, ATokenThatNeverCountsIsDropped) {
  for (const std::int64_t iterations : {1, 3}) {
    const auto [plan, treatment] = treat({.inner_iterations = iterations});
    EXPECT_TRUE(at::equal(treatment.dropped_FL[0], plan.target_FL[0]));
    EXPECT_EQ(count(treatment.dropped_FL.narrow(0, 1, 3)), 0);
    EXPECT_EQ(count(treatment.zero_FL[0]), iterations * count(plan.target_FL[0]));
  }
}

TEST(LossTreatment, ATokenIsClippedOnlyAfterThePolicyMoved) {
  EXPECT_EQ(count(treat({}).treatment.zero_FL.narrow(0, 1, 3)), 0);
  const auto [plan, treatment] = treat({.inner_iterations = 3});
  const auto clipped = treatment.zero_FL.narrow(0, 1, 3);
  EXPECT_GT(count(clipped), 0);
  EXPECT_LE(clipped.max().item<std::int64_t>(), 2) << "never in the first optimizer step";
}

TEST(LossTreatment, ViewsOfLaterOptimizerStepsKeepTheirPlaces) {
  const auto [plan, treatment] = treat({.views_per_update = 1});
  EXPECT_TRUE(at::equal(treatment.steps_F, at::ones_like(plan.response_F)));
  EXPECT_TRUE((treatment.gradient_FL[3] <= 0).all().item<bool>());
  EXPECT_LT(treatment.gradient_FL[3].sum().item<double>(), 0);
}

}  // namespace drift::loss_treatment_test
