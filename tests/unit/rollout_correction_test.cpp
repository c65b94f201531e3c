// Truncated importance weights between what wrote the tokens and what training scores.

#include <core/update/rollout_correction.h>

#include <core/update/policy_scores.h>
#include <core/update/policy_update.h>
#include <core/update/update_batch.h>
#include <drift/plan_builder.h>

#include "tests/support/alone.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"
#include "tests/support/updates.h"

namespace drift::rollout_correction_test {

using namespace testing;

constexpr std::int64_t kVocabulary = 11, kPrompt = 4, kLength = 4, kResponses = 2;

/// -A lp, the mean over all scored positions.
class Reinforce final : public LossEstimator {
 public:
  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.old = false; }
  Loss evaluate(const LossInput& in) const override {
    return in.token_mean(-in.token_advantage() * in.log_probs.current_FL);
  }
};

/// A view of response b that masks and scores these positions.
void add_view(PlanBuilder& builder, std::int64_t b, const std::vector<std::int64_t>& masked,
              const std::vector<std::int64_t>& scored) {
  builder.begin_view(b, 0);
  for (const std::int64_t i : masked) builder.mask(i);
  for (const std::int64_t i : scored) builder.score(i);
}

/// Two responses of four tokens, written two by two: positions 0 and 1 in step 0, 2 and 3 in step 1.
struct RolloutCorrectionTest : ::testing::Test {
  RolloutCorrectionTest() : trajectories(test::make_trajectories(kResponses, 2, kPrompt, kLength, kVocabulary, 0)) {}

  /// All states of both responses, everything masked is scored.
  static MaskPlan all_states() {
    PlanBuilder builder(kLength, kPrompt);
    for (std::int64_t b = 0; b < kResponses; ++b) {
      add_view(builder, b, {0, 1, 2, 3}, {0, 1, 2, 3});
      add_view(builder, b, {2, 3}, {2, 3});
    }
    return builder.finish(1);
  }

  /// Log-probabilities of the tokens in the states that committed them, [B, L].
  at::Tensor truth(const Model& model) const {
    const auto plan = all_states();
    const auto scores = score_views(test::alone, model, trajectories, plan, all_views(plan), false);
    const auto own_FL = scores.logprob_FL * scored_when_committed({}, trajectories, plan);
    return own_FL.view({kResponses, 2, kLength}).sum(1).to(at::kFloat);
  }

  static void make_even(test::TinyModel& model) {
    const at::NoGradGuard no_gradient;
    for (const auto& parameter : model.parameters()) parameter.tensor.zero_();
  }

  Trajectories trajectories;
};

TEST_F(RolloutCorrectionTest, OnlyAViewOfExactlyThatStateCounts) {
  PlanBuilder builder(kLength, kPrompt);
  add_view(builder, 0, {0, 1, 2, 3}, {0, 1, 2, 3});  // before step 0
  add_view(builder, 0, {2, 3}, {2});                 // before step 1, one of its tokens
  add_view(builder, 0, {1, 2, 3}, {1, 2});           // no state of this response
  add_view(builder, 0, {2}, {2});
  add_view(builder, 1, {0, 1, 2, 3}, {0});
  builder.mask_prompt(2);
  add_view(builder, 1, {2, 3}, {2, 3});
  builder.leave_unattended(3);
  const auto plan = builder.finish(1);
  const auto found_FL = scored_when_committed({}, trajectories, plan);
  EXPECT_THAT(test::numbers(found_FL), ElementsAre(1, 1, 0, 0,  //
                                                   0, 0, 1, 0,  //
                                                   0, 0, 0, 0,  //
                                                   0, 0, 0, 0,  //
                                                   0, 0, 0, 0,  //
                                                   0, 0, 0, 0));
  trajectories.step_BL[0][3].fill_(-1);  // never committed: masked in every state, and in none its own
  EXPECT_THAT(test::numbers(scored_when_committed({}, trajectories, all_states()), 1), ElementsAre(0, 0, 1, 0));
}

TEST_F(RolloutCorrectionTest, EqualLogProbabilitiesHaveTheWeightOne) {
  const test::TinyModel model(kVocabulary, 5, at::kFloat);
  trajectories.commit_logprob_BL = truth(model);
  const auto correction = rollout_correction(test::alone, model, trajectories, all_states(), 2);
  EXPECT_TRUE(at::equal(correction.weight_BL, at::ones({kResponses, kLength})));
  EXPECT_EQ(correction.tokens, 8);
  EXPECT_EQ(correction.weight_sum, 8);
  EXPECT_EQ(correction.capped, 0);
}

// Every token has probability 1/11 in every state. Recorded were 1/11, 2/11 and less: the ratios are 1, 1/2, 3/2, 4.
TEST_F(RolloutCorrectionTest, AHandMadeExample) {
  test::TinyModel model(kVocabulary, 5, at::kDouble);
  make_even(model);
  trajectories.commit_logprob_BL =
      at::tensor({1 / 11.0, 2 / 11.0, 2 / 33.0, 1 / 44.0, 1 / 11.0, 1 / 11.0, 1 / 44.0, 2 / 11.0}, at::kDouble)
          .log()
          .to(at::kFloat)
          .view({kResponses, kLength});
  PlanBuilder builder(kLength, kPrompt);
  add_view(builder, 0, {0, 1, 2, 3}, {0, 1, 2, 3});
  add_view(builder, 0, {2, 3}, {2, 3});
  add_view(builder, 1, {2, 3}, {3});  // positions 0, 1 and 2 of the second response are scored nowhere
  const auto plan = builder.finish(1);
  const auto correction = rollout_correction(test::alone, model, trajectories, plan, /*cap=*/2);
  const std::vector<double> weights = {1, 0.5, 1.5, 2, 1, 1, 1, 0.5};
  EXPECT_THAT(test::numbers(correction.weight_BL), Pointwise(DoubleNear(1e-6), weights));
  EXPECT_EQ(correction.tokens, 5);
  EXPECT_NEAR(correction.weight_sum, 1 + 0.5 + 1.5 + 2 + 0.5, 1e-6);
  EXPECT_EQ(correction.capped, 1);

  // Advantages 1 and -3: the tokens of the first response count (1 + 0.5 + 1.5 + 2) + (1.5 + 2), the weights of
  // positions 2 and 3 in both views that score them; the second -3 * 0.5. Seven scored positions, lp = -ln 11.
  UpdateBatch batch = update_batch(trajectories, test::vector_tensor({1, -3}), plan, /*group_size=*/2);
  batch.tokens.advantage_BL = batch.advantage_B.unsqueeze(1) * correction.weight_BL;
  EXPECT_NEAR(policy_gradient(test::alone, model, Reinforce(), batch, 1 << 30).loss, std::log(11) * (8.5 - 1.5) / 7,
              1e-6);
}

TEST_F(RolloutCorrectionTest, TheGradientIsThatOfTheWeightedLoss) {
  test::TinyModel model(kVocabulary, 5, at::kDouble);
  const auto plan = all_states();
  UpdateBatch batch = update_batch(trajectories, test::vector_tensor({1, -3}), plan, /*group_size=*/2);
  // Constants: the weights are those of the policy that wrote the responses.
  batch.tokens.advantage_BL =
      batch.advantage_B.unsqueeze(1) * rollout_correction(test::alone, model, trajectories, plan, 2).weight_BL;
  const auto loss = [&] { return policy_gradient(test::alone, model, Reinforce(), batch, 1 << 30).loss; };
  const auto computed = policy_gradient(test::alone, model, Reinforce(), batch, 1 << 30);
  const auto parameters = model.parameters();
  constexpr double kStep = 1e-5;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    double* const value = parameters[p].tensor.data_ptr<double>();
    for (const std::int64_t at : {std::int64_t{3}, parameters[p].tensor.numel() / 2}) {
      const double centre = value[at];
      value[at] = centre + kStep;
      const double above = loss();
      value[at] = centre - kStep;
      const double slope = (above - loss()) / (2 * kStep);
      value[at] = centre;
      EXPECT_NEAR(computed.gradients[p].flatten()[at].item<double>(), slope, 1e-8) << parameters[p].name << " " << at;
    }
  }
}

TEST_F(RolloutCorrectionTest, AWeightDependsOnItsResponseAlone) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const auto plan = all_states();
  const auto whole = rollout_correction(test::alone, model, trajectories, plan, 0.3);
  EXPECT_GT(whole.capped, 0);
  EXPECT_LT(whole.capped, 8);
  for (std::int64_t b = 0; b < kResponses; ++b) {
    const auto alone =
        rollout_correction(test::alone, model, trajectories, select_views(plan, {2 * b, 2 * b + 1}, at::kCPU), 0.3);
    EXPECT_TRUE(at::equal(alone.weight_BL[b], whole.weight_BL[b]));
    EXPECT_TRUE(at::equal(alone.weight_BL[1 - b], at::ones({kLength})));
  }
}

struct UpdateResults {
  std::vector<at::Tensor> parameters;
  UpdateResult result;
};

UpdateResults update(const Trajectories& trajectories, const MaskPlan& plan, const std::vector<at::Tensor>& weights_BL,
                     double learning_rate, std::int64_t views_per_update) {
  test::TinyModel model(kVocabulary, 5, at::kDouble);
  Optimizer optimizer(test::alone, model.parameters(), test::constant_adamw(learning_rate));
  const Loaded<LossEstimator> loss(std::make_unique<Reinforce>(), "reinforce");
  PolicyUpdate step(test::alone, model, loss, nullptr, optimizer,
                    {.group_size = 2, .views_per_update = views_per_update, .memory_budget = 1 << 30});
  UpdateResults results;
  const auto advantage_B = at::tensor({1.0F, -3.0F});
  std::vector<TokenAdvantages> tokens;
  for (const at::Tensor& weight_BL : weights_BL) tokens.push_back({advantage_B.unsqueeze(1) * weight_BL, {}, {}});
  results.result = step.run(trajectories, {plan}, advantage_B, tokens);
  for (const auto& parameter : model.parameters()) results.parameters.push_back(parameter.tensor);
  return results;
}

TEST_F(RolloutCorrectionTest, WeightsOfOneAreTheUpdateWithoutThemBitForBit) {
  const auto plan = all_states();
  const auto without = update(trajectories, plan, {}, 0.05, 0);
  const auto with = update(trajectories, plan, {at::ones({kResponses, kLength})}, 0.05, 0);
  EXPECT_EQ(with.result.loss, without.result.loss);
  for (std::size_t p = 0; p < with.parameters.size(); ++p)
    EXPECT_TRUE(at::equal(with.parameters[p], without.parameters[p]));
}

TEST_F(RolloutCorrectionTest, ViewsCanBeDividedAmongOptimizerSteps) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const auto plan = all_states();
  const std::vector<at::Tensor> weights_BL = {rollout_correction(test::alone, model, trajectories, plan, 2).weight_BL};
  const auto whole = update(trajectories, plan, weights_BL, 0, 0).result.loss;
  EXPECT_NEAR(update(trajectories, plan, weights_BL, 0, 1).result.loss, whole, 1e-12);
  EXPECT_NEAR(update(trajectories, plan, weights_BL, 0, 2).result.loss, whole, 1e-12);
  EXPECT_GT(std::abs(update(trajectories, plan, {}, 0, 0).result.loss - whole), 1e-3);
}

}  // namespace drift::rollout_correction_test
