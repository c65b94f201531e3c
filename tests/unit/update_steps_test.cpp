// Several optimizer steps on one rollout (train.views_per_update): the steps' losses and gradients, weighed by their
// fractions of the views, add up to those of all views in one step. For every loss, whatever it divides by, however the
// views are dealt out.

#include <core/update/policy_gradient.h>
#include <core/update/update_batch.h>

#include "tests/support/alone.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

#include <ATen/ops/sum.h>

namespace drift::update_steps_test {

constexpr std::int64_t kVocabulary = 11, kResponses = 6, kGroup = 2, kLength = 6, kPairs = 2;
constexpr std::int64_t kPlenty = std::int64_t{1} << 30;

struct Setting {
  std::string loss;
  std::map<std::string, Parameter::Value> params;
};

/// Pairs of complementary masks for each response, as the loss of Coupled-GRPO needs them; `single`: one mask each.
MaskPlan pairs_of_views(const Trajectories& trajectories, bool single = false) {
  const std::int64_t views = single ? 1 : 2 * kPairs;
  MaskPlan plan;
  plan.terms = views;
  plan.response_F = at::arange(kResponses, at::kLong).repeat_interleave(views);
  plan.term_F = at::arange(views, at::kLong).repeat({kResponses});
  const auto position_1L = at::arange(kLength, at::kLong).unsqueeze(0);
  const auto stride_F1 = (plan.term_F / 2).to(at::kLong).unsqueeze(1) + 2 + plan.response_F.unsqueeze(1) % 2;
  const auto first_FL = position_1L.remainder(stride_F1) == 0;
  plan.masked_FL = first_FL.logical_xor((plan.term_F % 2 == 1).unsqueeze(1));
  plan.target_FL = plan.masked_FL.logical_and(trajectories.valid_BL.index_select(0, plan.response_F));
  return plan;
}

struct UpdateSteps : testing::Test {
  UpdateSteps()
      : trajectories(test::make_trajectories(kResponses, kGroup, 4, kLength, kVocabulary, 2)),
        plan(pairs_of_views(trajectories)) {}

  PolicyGradient gradient(const LossEstimator& loss, UpdateBatch batch) const {
    batch.reference_is_old_policy = true;
    return policy_gradient(test::alone, model, loss, batch, kPlenty);
  }

  UpdateBatch step_on(const LossEstimator& loss, const Views& views) const {
    return update_batch(trajectories, advantage_B, plan, loss.coupling(), views, kGroup);
  }

  std::int64_t views() const { return plan.response_F.size(0); }

  /// The steps' sums, each weighed by a fraction, against one step on all views.
  void expect_adds_up(const LossEstimator& loss, std::int64_t views_per_update,
                      const std::function<double(const Views&)>& fraction) const {
    const auto whole = gradient(loss, step_on(loss, all_views(plan)));
    double sum = 0, fractions = 0;
    std::vector<at::Tensor> gradients;
    for (const Views& of_step : views_of_steps(plan, loss.coupling(), views_per_update)) {
      const auto one = gradient(loss, step_on(loss, of_step));
      sum += fraction(of_step) * one.loss;
      fractions += fraction(of_step);
      for (std::size_t p = 0; p < one.gradients.size(); ++p) {
        const auto weighed = fraction(of_step) * one.gradients[p];
        if (gradients.size() == p)
          gradients.push_back(weighed);
        else
          gradients[p] = gradients[p] + weighed;
      }
    }
    EXPECT_NEAR(fractions, 1, 1e-12);
    EXPECT_NEAR(sum, whole.loss, 1e-12);
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      EXPECT_TRUE(at::allclose(gradients[p], whole.gradients[p], 1e-9, 1e-12)) << "parameter " << p;
      EXPECT_GT(whole.gradients[p].abs().max().item<double>(), 1e-9) << "no gradient to compare";
    }
  }

  test::TinyModel model{kVocabulary, 5, at::kDouble};
  Trajectories trajectories;
  MaskPlan plan;
  at::Tensor advantage_B = at::arange(kResponses, at::kDouble) - 2.2;
};

TEST_F(UpdateSteps, AddUpToTheFullUpdateForEveryLossAndNorm) {
  std::vector<Setting> settings;
  for (const std::string loss : {"d1", "coupled_grpo"}) {
    for (const std::string norm : {"token", "sample", "length"}) {
      for (const std::int64_t micro_batch : {0, 1, 2, 4}) {
        settings.push_back({loss, {{"norm", norm}, {"micro_batch", micro_batch}, {"beta", 0.1}}});
      }
    }
  }
  settings.push_back({"rldf", {{"norm", "sample"}, {"beta", 0.1}}});
  settings.push_back({"rldf", {{"norm", "sample"}, {"form", "ppo"}, {"low_prob_threshold", 0.0}}});
  for (const std::string length : {"gen_len", "valid"}) settings.push_back({"espo", {{"length", length}}});
  for (const std::string weighting : {"rows", "response"}) settings.push_back({"tracerl", {{"weighting", weighting}}});
  for (const std::int64_t micro_batch : {0, 2, 3}) settings.push_back({"wd1", {{"micro_batch", micro_batch}}});
  settings.push_back({"agrpo", {{"beta", 0.1}}});
  settings.push_back({"bgpo", {}});
  settings.push_back({"bgpo", {{"divide_by_length", true}, {"clip", 0.2}, {"dual_clip", 3.0}}});
  settings.push_back({"tracerl", {{"confidence_weights", true}}});
  for (const std::string ratio : {"sequence", "token"}) settings.push_back({"gdpo", {{"ratio", ratio}}});
  for (const Setting& setting : settings) {
    std::string text = setting.loss;
    for (const auto& [key, value] : setting.params) text += " " + key;
    const auto loss = test::create<LossEstimator>(setting.loss, setting.loss, setting.params);
    ASSERT_NE(loss->coupling(), Coupling::kBatch);
    for (const std::int64_t views_per_update : {1, 3, 4, 7, 8, 12, 23, 24}) {
      SCOPED_TRACE(text + ", views_per_update " + std::to_string(views_per_update));
      expect_adds_up(*loss, views_per_update, [&](const Views& of_step) {
        return static_cast<double>(of_step.size()) / static_cast<double>(views());
      });
    }
  }
}

// A loss that couples the entire batch uses a step's responses as its batch, and its steps weigh as much as what it
// divides by: tokens, or the responses' lengths.
TEST_F(UpdateSteps, OfALossThatCouplesTheBatchAreBatchesThemselves) {
  plan = pairs_of_views(trajectories, /*single=*/true);
  const auto tokens_B = plan.target_FL.sum(1).to(at::kDouble);
  const auto fraction_of = [&](const at::Tensor& weight_B) {
    return [weight_B](const Views& of_step) {
      return (weight_B.index_select(0, index_tensor(of_step)).sum() / weight_B.sum()).item<double>();
    };
  };
  const auto rldf = test::create<LossEstimator>("rldf", "rldf", {{"norm", "token"}, {"low_prob_threshold", 0.0}});
  ASSERT_EQ(rldf->coupling(), Coupling::kBatch);
  for (const std::int64_t views : {1, 2, 4, 6}) expect_adds_up(*rldf, views, fraction_of(tokens_B));

  const auto length_B = trajectories.valid_BL.sum(1).to(at::kDouble);
  plan.weight_F = (length_B / tokens_B).to(at::kFloat);
  const auto spg = test::create<LossEstimator>("spg", "spg", {{"micro_batch", std::int64_t{0}}});
  ASSERT_EQ(spg->coupling(), Coupling::kBatch);
  for (const std::int64_t views : {1, 2, 4, 6}) expect_adds_up(*spg, views, fraction_of(length_B));
}

// SPG averages micro-batches: a step with two of the three is the mean of two.
TEST_F(UpdateSteps, CountTheMicroBatchesThatTheyHold) {
  plan = pairs_of_views(trajectories, /*single=*/true);
  plan.weight_F = (trajectories.valid_BL.sum(1).to(at::kDouble) / plan.target_FL.sum(1)).to(at::kFloat);
  const auto spg = test::create<LossEstimator>("spg", "spg", {{"micro_batch", std::int64_t{2}}});
  for (const std::int64_t views : {2, 4}) {
    expect_adds_up(*spg, views, [](const Views& of_step) { return static_cast<double>(of_step.size()) / kResponses; });
  }
}

// d1's preset: micro-batches of 6. With one of them a step, the step's loss is its mean, not a fraction of it.
TEST_F(UpdateSteps, OfOneMicroBatchAreItsMean) {
  plan = pairs_of_views(trajectories, /*single=*/true);
  const auto loss = test::create<LossEstimator>("d1", "d1", {{"micro_batch", std::int64_t{2}}, {"beta", 0.0}});
  for (std::int64_t first = 0; first < kResponses; first += 2) {
    const auto step = gradient(*loss, step_on(*loss, {first, first + 1}));
    // The ratio is 1: the mean of -A over the tokens.
    const auto tokens_B = plan.target_FL.narrow(0, first, 2).sum(1).to(at::kDouble);
    EXPECT_NEAR(step.loss, (-(advantage_B.narrow(0, first, 2) * tokens_B).sum() / tokens_B.sum()).item<double>(),
                1e-12);
  }
}

}  // namespace drift::update_steps_test
