// The optimizer steps on one rollout: how the views are dealt out, and which policy the KL compares with.

#include <core/update/policy_update.h>
#include <core/update/reference_policy.h>
#include <drift/error.h>

#include "tests/support/alone.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"
#include "tests/support/updates.h"

namespace drift::policy_update_test {

using Parts = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t kVocabulary = 11, kHidden = 5, kResponses = 4, kLength = 6;

/// -A lp plus the KL to whatever the core calls the reference; reports what it was given.
class WatchingLoss final : public LossEstimator {
 public:
  explicit WatchingLoss(bool reference, bool old = true) : reference_(reference), old_(old) {}
  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override {
    needs.reference = reference_;
    needs.old = old_;
  }
  Loss evaluate(const LossInput& input) const override {
    auto value_FL = -input.advantage_F1() * input.log_probs.current_FL;
    Loss loss;
    if (reference_) {
      value_FL = value_FL + (input.log_probs.reference_FL - input.log_probs.current_FL).square();
      loss = input.token_mean(value_FL);
      loss.add_mean("to_reference", (input.log_probs.reference_FL - input.log_probs.current_FL).abs(),
                    input.plan.target_FL);
    } else {
      loss = input.token_mean(value_FL);
    }
    EXPECT_EQ(input.log_probs.old_FL.defined(), old_);
    if (old_) {
      loss.add_mean("to_old", (input.log_probs.old_FL - input.log_probs.current_FL).abs(), input.plan.target_FL);
    }
    loss.add_mean("views", at::full({1}, input.plan.response_F.size(0), at::kDouble), at::ones({1}, at::kBool));
    return loss;
  }

 private:
  bool reference_, old_;
};

struct PolicyUpdateTest : ::testing::Test {
  PolicyUpdateTest()
      : trajectories(test::make_trajectories(kResponses, 2, 4, kLength, kVocabulary, 2)),
        plan(test::views_of_steps(trajectories, 2)) {}

  UpdateResult run(const PolicyUpdateSettings& changed, const std::vector<MaskPlan>& plans,
                   ReferencePolicy* reference = nullptr, bool old = true) {
    PolicyUpdateSettings settings = changed;
    settings.group_size = 2;
    settings.memory_budget = std::int64_t{1} << 30;
    const Loaded<LossEstimator> loss(std::make_unique<WatchingLoss>(reference != nullptr, old), "watching");
    optimizer.emplace(test::alone, model.parameters(), optimizer_settings);
    return PolicyUpdate(test::alone, model, loss, reference, *optimizer, settings)
        .run(trajectories, plans, at::arange(kResponses, at::kFloat) - 1.5F);
  }

  static Loaded<Model> another_model() {
    return {std::make_unique<test::TinyModel>(kVocabulary, kHidden, at::kDouble), "tiny"};
  }

  test::TinyModel model{kVocabulary, kHidden, at::kDouble};
  Trajectories trajectories;
  MaskPlan plan;
  const OptimizerSettings optimizer_settings = test::constant_adamw(0.05);
  std::optional<Optimizer> optimizer;
};

TEST_F(PolicyUpdateTest, ViewsAreDividedInOrderAndTheRestIsNotLost) {
  EXPECT_EQ(views_of_steps(plan, Coupling::kView, 0), (Parts{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(views_of_steps(plan, Coupling::kView, 3), (Parts{{0, 1, 2}, {3, 4, 5}, {6, 7}}));
  EXPECT_EQ(views_of_steps(plan, Coupling::kView, 8), (Parts{{0, 1, 2, 3, 4, 5, 6, 7}}));
}

TEST_F(PolicyUpdateTest, AResponseWhoseViewsBelongTogetherIsNotSplit) {
  for (const auto coupling : {Coupling::kResponse, Coupling::kBatch}) {
    EXPECT_EQ(views_of_steps(plan, coupling, 3), (Parts{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  }
}

TEST_F(PolicyUpdateTest, EveryPartIsAnOptimizerStepOnItsOwnViews) {
  const auto result = run({.views_per_update = 3}, {plan});
  EXPECT_EQ(optimizer->steps(), 3);
  EXPECT_NEAR(result.metrics.at("views"), (3 + 3 + 2) / 3.0, 1e-12);
}

TEST_F(PolicyUpdateTest, TheOldPolicyIsTheOneBeforeTheFirstStepForEveryPart) {
  const auto once = run({}, {plan});
  EXPECT_EQ(once.metrics.at("to_old"), 0);
  // Later parts and later iterations see a policy that has moved.
  EXPECT_GT(run({.views_per_update = 3}, {plan}).metrics.at("to_old"), 1e-3);
  EXPECT_GT(run({.inner_iterations = 2}, {plan}).metrics.at("to_old"), 1e-3);
  EXPECT_GT(run({.inner_iterations = 2}, {plan, plan}).metrics.at("to_old"), 1e-3);
}

TEST_F(PolicyUpdateTest, ForwardsAndBackwardsAreCounted) {
  // The views of a plan may show equal contexts, which go through the model once.
  const auto rows = run({}, {plan}).backward_rows;
  EXPECT_GT(rows, kResponses);
  EXPECT_EQ(run({}, {plan}).forward_rows, rows);
  const auto twice = run({.inner_iterations = 2}, {plan});
  EXPECT_EQ(twice.forward_rows, 2 * rows);
  EXPECT_EQ(twice.backward_rows, 2 * rows);
  ReferencePolicy reference({ReferenceKind::kFrozen}, another_model());
  EXPECT_EQ(run({}, {plan}, &reference).forward_rows, 2 * rows);
}

TEST_F(PolicyUpdateTest, ALossThatNeedsNoOldPolicyPaysForNone) {
  const auto with = run({.views_per_update = 3}, {plan});
  model.initialize(RandomStream(1, "tiny"));  // as it was before
  const auto without = run({.views_per_update = 3}, {plan}, nullptr, false);
  EXPECT_GT(with.forward_rows, with.backward_rows) << "later parts score the old policy before the weights move";
  EXPECT_EQ(without.forward_rows, without.backward_rows);
  EXPECT_EQ(without.loss, with.loss);
}

TEST_F(PolicyUpdateTest, TheOldPolicyAsReferenceCostsNoForward) {
  ReferencePolicy old({ReferenceKind::kOld}, {});
  const auto result = run({.inner_iterations = 2}, {plan}, &old);
  EXPECT_EQ(result.forward_rows, result.backward_rows);
  EXPECT_EQ(result.metrics.at("to_reference"), result.metrics.at("to_old"));
}

TEST_F(PolicyUpdateTest, AFrozenReferenceStays) {
  ReferencePolicy frozen({ReferenceKind::kFrozen}, another_model());
  const auto before = frozen.model().lm_head_VH().clone();
  run({.inner_iterations = 4}, {plan}, &frozen);
  EXPECT_TRUE(at::equal(frozen.model().lm_head_VH(), before));
  EXPECT_TRUE(frozen.state().empty());
}

TEST_F(PolicyUpdateTest, AMovingAverageMovesAtItsStepsOnly) {
  ReferencePolicy average({ReferenceKind::kMovingAverage, /*sync_steps=*/3, /*mix=*/0.6}, another_model());
  const auto first = average.model().lm_head_VH().detach().clone();
  run({.inner_iterations = 2}, {plan}, &average);
  EXPECT_TRUE(at::equal(average.model().lm_head_VH(), first));

  const auto from = model.lm_head_VH().detach().clone();
  average.after_optimizer_step(3, model);
  EXPECT_TRUE(at::allclose(average.model().lm_head_VH(), 0.6 * from + 0.4 * first, 1e-12, 1e-12));
}

TEST_F(PolicyUpdateTest, AMovingAverageIsPartOfTheTrainingState) {
  const ReferenceSettings settings{ReferenceKind::kMovingAverage, 1, 0.6};
  ReferencePolicy saved(settings, another_model());
  run({}, {plan}, &saved);
  ReferencePolicy restored(settings, another_model());
  EXPECT_FALSE(at::equal(restored.model().lm_head_VH(), saved.model().lm_head_VH()));
  restored.load_state(saved.state());
  EXPECT_TRUE(at::equal(restored.model().lm_head_VH(), saved.model().lm_head_VH()));
  EXPECT_THROW(restored.load_state({}), Error);
}

/// The plan of responses that end with 9, or where a model also ends with 7, with either.
std::vector<std::string> plan_of(const MaskingStrategy& masking, std::int64_t end_token, std::int64_t end_id,
                                 std::int64_t further_id) {
  Trajectories responses = test::token_trajectories(
      {{1, 2, 3, end_token, 4, 4, 9, 9}, {1, 2, 3, 4, 5, 6, 8, 2}, {end_token, 4, 4, 4, 9, 4, 4, 4}});
  responses.step_BL = at::arange(8, at::kInt).expand({3, 8}).contiguous();
  ModelTraits traits;
  traits.pad_id = 0;
  traits.end_id = end_id;
  traits.further_end_ids[0] = further_id;
  const MaskPlan plan = draw_plan(masking, responses, traits, {RandomStream(1, "masking")});
  std::vector<std::string> views;
  for (std::int64_t b = 0; b < 3; ++b) std::ranges::copy(test::views_of(plan, b), std::back_inserter(views));
  return views;
}

TEST(PlanDraw, AnyEndTokenOfTheModelEndsTheValidPart) {
  for (const char* name : {"coupled_grpo", "d1", "d2", "gdpo", "mdpo", "spg", "unigrpo", "vrpo"}) {
    const auto masking = test::create<MaskingStrategy>(name, name);
    EXPECT_EQ(plan_of(*masking, 7, 9, 7), plan_of(*masking, 9, 9, 0)) << name;
    EXPECT_NE(plan_of(*masking, 7, 9, 7), plan_of(*masking, 7, 9, 0)) << name;
    // A strategy that is given its own end token knows no other.
    const auto own = test::create<MaskingStrategy>(name, name, {{"end_id", std::int64_t{7}}});
    EXPECT_EQ(plan_of(*own, 7, 9, 7), plan_of(*masking, 7, 7, 0)) << name;
  }
}

}  // namespace drift::policy_update_test
