// Generalised advantages over denoising steps, and the value model that they are computed from
// (docs/spec/tracerl.md 5.4).

#include <core/update/generalised_advantages.h>
#include <core/update/value_model.h>
#include <drift/error.h>

#include "tests/support/alone.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

#include <ATen/ops/stack.h>

namespace drift::value_model_test {

using namespace testing;
using Numbers = std::vector<double>;

constexpr std::int64_t kVocabulary = 11, kHidden = 5, kResponses = 4, kLength = 6;

Numbers row(const at::Tensor& tensor_BL, std::int64_t b) {
  const auto row_L = tensor_BL[b].to(at::kDouble).contiguous();
  return {row_L.const_data_ptr<double>(), row_L.const_data_ptr<double>() + row_L.numel()};
}

/// One view for each step of each response, in this order: `step_BL[b][i]` is the view that scores token i, -1: none.
MaskPlan plan_of_steps(const std::vector<std::vector<int>>& step_BL) {
  std::vector<std::int64_t> response, forward;
  std::vector<at::Tensor> masked, target;
  for (std::size_t b = 0; b < step_BL.size(); ++b) {
    const auto step_L = at::tensor(std::vector<std::int64_t>(step_BL[b].begin(), step_BL[b].end()));
    for (std::int64_t step = 0; step <= step_L.max().item<std::int64_t>(); ++step) {
      response.push_back(static_cast<std::int64_t>(b));
      forward.push_back(step);
      masked.push_back(step_L.ge(step).logical_or(step_L < 0));
      target.push_back(step_L == step);
    }
  }
  MaskPlan plan;
  plan.terms = static_cast<std::int64_t>(forward.size());
  plan.response_F = at::tensor(response);
  plan.term_F = at::tensor(forward);
  plan.masked_FL = at::stack(masked);
  plan.target_FL = at::stack(target);
  return plan;
}

// The example of the specification: 5.8.
struct WorkedExample : testing::Test {
  const MaskPlan plan = plan_of_steps({{0, 0, 1, 2, 2}});
  const at::Tensor old_L = at::tensor(Numbers{.2, .4, .1, .3, .5}), new_L = at::tensor(Numbers{.25, .75, .05, .3, .9});
  const at::Tensor value_FL = plan.target_FL * old_L;
};

TEST_F(WorkedExample, ReturnsAndAdvantagesOfEachToken) {
  const auto tokens = generalised_advantages(plan, value_FL, at::tensor({1.0}), {.gamma = .9, .lambda = .8});
  EXPECT_THAT(row(tokens.return_BL, 0), Pointwise(DoubleNear(1e-12), Numbers{.81, .81, .9, 1, 1}));
  EXPECT_THAT(row(tokens.advantage_BL, 0), Pointwise(DoubleNear(1e-12), Numbers{.38824, .18824, .692, .7, .5}));
  EXPECT_THAT(row(tokens.value_BL, 0), Pointwise(DoubleNear(1e-12), Numbers{.2, .4, .1, .3, .5}));
}

TEST_F(WorkedExample, ValueLossOfEachTokenAndOfTheViews) {
  const auto tokens = generalised_advantages(plan, value_FL, at::tensor({1.0}), {.gamma = .9, .lambda = .8});
  const auto loss_L = clipped_value_loss(new_L, old_L, tokens.return_BL[0], 0.2);
  EXPECT_THAT(row(loss_L.unsqueeze(0), 0), Pointwise(DoubleNear(1e-12), Numbers{.1568, .02205, .36125, .245, .045}));
  const auto mean_over_views = [&](ValueNorm norm) { return (value_weights(plan.target_FL, norm) * loss_L).sum(); };
  EXPECT_NEAR(mean_over_views(ValueNorm::kLength).item<double>(), 0.05534, 1e-12);
  EXPECT_NEAR(mean_over_views(ValueNorm::kTargets).item<double>(), 0.19855833, 1e-8);
}

TEST_F(WorkedExample, WithoutDiscountTheReturnIsTheRewardAndTheAdvantageWhatIsMissing) {
  const auto tokens = generalised_advantages(plan, value_FL, at::tensor({-2.0}), {});
  EXPECT_THAT(row(tokens.return_BL, 0), Pointwise(DoubleNear(1e-12), Numbers{-2, -2, -2, -2, -2}));
  EXPECT_THAT(row(tokens.advantage_BL, 0), Pointwise(DoubleNear(1e-12), Numbers{-2.2, -2.4, -2.1, -2.3, -2.5}));
}

TEST(GeneralisedAdvantages, StepsAreInTheOrderOfTheirForwardsAndUnscoredTokensHaveNone) {
  const MaskPlan plan = plan_of_steps({{1, -1, 0}, {0, 0, -1}});
  const auto order = at::tensor({1L, 0L, 2L});  // the first response's views the other way round
  MaskPlan turned = plan;
  turned.response_F = plan.response_F.index_select(0, order);
  turned.term_F = plan.term_F.index_select(0, order);
  turned.masked_FL = plan.masked_FL.index_select(0, order);
  turned.target_FL = plan.target_FL.index_select(0, order);
  const auto reward_B = at::tensor({1.0, -1.0});
  const auto zero_FL = at::zeros({3, 3}, at::kDouble);
  for (const MaskPlan& one : {plan, turned}) {
    const auto tokens = generalised_advantages(one, zero_FL, reward_B, {.gamma = .5, .lambda = 1});
    EXPECT_THAT(row(tokens.return_BL, 0), Pointwise(DoubleNear(1e-12), Numbers{1, 0, .5}));
    EXPECT_THAT(row(tokens.return_BL, 1), Pointwise(DoubleNear(1e-12), Numbers{-1, -1, 0}));
    EXPECT_TRUE(at::equal(scored_tokens(one, 2), tokens.return_BL != 0));
  }
}

TEST(GeneralisedAdvantages, ATokenInSeveralViewsHasNoStep) {
  MaskPlan plan = plan_of_steps({{0, 1, 1}});
  plan.target_FL[0].fill_(true);
  EXPECT_THAT(test::what_of([&] {
                generalised_advantages(plan, at::zeros({2, 3}, at::kDouble), at::tensor({1.0}), {});
              }),
              HasSubstr("scores tokens in several views"));
}

struct ValueModelTest : testing::Test {
  ValueModelTest() : trajectories(test::make_trajectories(kResponses, 2, 4, kLength, kVocabulary, 0)) {
    settings.memory_budget = std::int64_t{1} << 30;
    settings.optimizer.learning_rate = 0.02;
    settings.optimizer.schedule = "constant";
    settings.optimizer.beta1 = 0.9;
    settings.optimizer.beta2 = 0.999;
    settings.optimizer.epsilon = 1e-8;
  }

  ValueModel make() const {
    return {test::alone, settings,
            Loaded<Model>(std::make_unique<test::TinyModel>(kVocabulary, kHidden, at::kDouble), "tiny")};
  }
  TokenAdvantages tokens(const ValueModel& model) const {
    return generalised_advantages(plan, model.estimate(trajectories, plan), reward_B, settings.discount);
  }
  double loss(const ValueModel& model, const TokenAdvantages& before) const {
    const auto of_views = [&](const at::Tensor& all_BL) { return all_BL.index_select(0, plan.response_F); };
    const auto loss_FL = clipped_value_loss(model.estimate(trajectories, plan), of_views(before.value_BL),
                                            of_views(before.return_BL), settings.clip);
    return (loss_FL * value_weights(plan.target_FL, settings.norm)).sum().item<double>();
  }

  Trajectories trajectories;
  MaskPlan plan = plan_of_steps({{0, 1, 1, 2, 2, 3}, {0, 0, 0, 0, 1, 1}, {2, 1, 0, 0, 1, 2}, {0, 1, 2, 3, 4, 5}});
  at::Tensor reward_B = at::tensor({1.0, -1.0, 0.5, -0.5});
  ValueSettings settings;
};

TEST_F(ValueModelTest, BeginsWithEstimatesOfZero) {
  const auto value_FL = make().estimate(trajectories, plan);
  EXPECT_EQ(value_FL.sizes(), plan.target_FL.sizes());
  EXPECT_TRUE(at::equal(value_FL, at::zeros_like(value_FL)));
}

TEST_F(ValueModelTest, LearnsTheReturnsOfItsTokens) {
  settings.clip = 10;
  auto model = make();
  const auto before = tokens(model);
  const double first = model.train(trajectories, plan, before);
  EXPECT_NEAR(first, loss(make(), before), 1e-12) << "the loss is that before the step";
  for (int i = 0; i < 300; ++i) model.train(trajectories, plan, before);
  EXPECT_LT(loss(model, before), first / 5) << "not 0: equal contexts of a group have several returns";
}

TEST_F(ValueModelTest, AnEstimateBeyondTheClipIsNotPushedFurther) {
  const auto moved = [&](double clip) {
    settings.clip = clip;
    auto model = make();
    const auto before = tokens(model);
    for (int i = 0; i < 100; ++i) model.train(trajectories, plan, before);
    return model.estimate(trajectories, plan).abs().sum().item<double>();  // it began with zeros
  };
  EXPECT_GT(moved(0.05), 0);
  EXPECT_LT(moved(0.05), moved(10) / 2);
}

// With an epsilon far above the gradient's square root, AdamW moves a weight by learning_rate / epsilon times its
// gradient.
TEST_F(ValueModelTest, TheGradientIsThatOfFiniteDifferences) {
  settings.optimizer.beta1 = settings.optimizer.beta2 = 0;
  settings.optimizer.epsilon = 1e8;
  settings.optimizer.learning_rate = 1e8;
  auto model = make();
  {
    ValueModel warm = make();  // a head of zeros would leave the trunk without a gradient
    auto state = warm.state();
    for (NamedTensor& one : state) {
      if (one.name == "value.weight.value_head") one.tensor = at::arange(kHidden, at::kDouble) / 7 - 0.2;
    }
    model.load_state(state);
  }
  auto before = tokens(model);
  before.value_BL = before.value_BL - 0.1;  // away from the kink at V = V_old
  auto weights = model.state();
  for (NamedTensor& one : weights) one.tensor = one.tensor.clone();  // a state may be the model's own memory
  model.train(trajectories, plan, before);
  const auto moved = model.state();
  ValueModel probe = make();
  constexpr double kDelta = 1e-5;
  int checked = 0;
  for (std::size_t p = 0; p < weights.size(); ++p) {
    if (!weights[p].name.starts_with("value.weight.")) continue;
    const std::int64_t count = weights[p].tensor.numel();
    for (std::int64_t i = 0; i < count; i += 1 + count / 7) {
      const auto at_offset = [&](double offset) {
        auto changed = weights;
        changed[p].tensor = weights[p].tensor.clone();
        changed[p].tensor.view({-1})[i] += offset;
        probe.load_state(changed);
        return loss(probe, before);
      };
      const double difference = (at_offset(kDelta) - at_offset(-kDelta)) / (2 * kDelta);
      const auto before_i = weights[p].tensor.view({-1})[i], after_i = moved[p].tensor.view({-1})[i];
      EXPECT_NEAR((before_i - after_i).item<double>(), difference, 1e-6) << weights[p].name << " " << i;
      checked += std::abs(difference) > 1e-4;
    }
  }
  EXPECT_GT(checked, 10) << "nearly all gradients are 0";
}

TEST_F(ValueModelTest, IsTheSameInPassesOfAnySize) {
  auto whole = make();
  const auto before = tokens(whole);
  whole.train(trajectories, plan, before);
  settings.memory_budget = 1;
  auto parts = make();
  parts.train(trajectories, plan, before);
  EXPECT_TRUE(at::allclose(parts.estimate(trajectories, plan), whole.estimate(trajectories, plan), 1e-10, 1e-12));
}

TEST_F(ValueModelTest, ContinuesFromItsStateBitForBit) {
  settings.views_per_update = 4;
  auto unbroken = make();
  const auto before = tokens(unbroken);
  unbroken.train(trajectories, plan, before);
  auto resumed = make();
  resumed.load_state(unbroken.state());
  for (ValueModel* model : {&unbroken, &resumed}) model->train(trajectories, plan, before);
  EXPECT_TRUE(at::equal(resumed.estimate(trajectories, plan), unbroken.estimate(trajectories, plan)));

  auto state = unbroken.state();
  state.erase(state.begin());
  EXPECT_THROW(make().load_state(state), Error);
}

}  // namespace drift::value_model_test
