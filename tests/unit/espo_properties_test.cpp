// What ESPO promises for every batch, not only for the golden one.

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

namespace drift::espo_properties_test {

using testing::Each;
using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<MaskingStrategy> masking(const Values& values = {}) {
  return test::create<MaskingStrategy>("espo", "espo", values);
}
std::unique_ptr<LossEstimator> loss(const Values& values = {}) {
  return test::create<LossEstimator>("espo", "espo", values);
}
Parameter::Value text(const char* value) { return std::string(value); }

MaskPlan draw(const MaskingStrategy& strategy, const Trajectories& trajectories, std::int64_t step = 0,
              std::int64_t inner_iteration = 0) {
  return test::draw_inner_plan(strategy, trajectories, step, inner_iteration);
}

double elbo(const LossInput& input, std::int64_t length) {
  test::MetricTotal logged;
  logged.add(loss({{"beta", 0.0}})->evaluate(input), "elbo");
  return logged.value() * static_cast<double>(length);
}

// 8 responses of 7 positions: the sizes of the masks are 0, …, 7 in some order, each once.
TEST(EspoLoss, ConstantLogProbabilitiesGiveLTimesThemOnAverageOverAllMaskSizes) {
  constexpr std::int64_t kLength = 7;
  constexpr double kC = -0.7;
  LossInput input = test::random_loss_input(draw(*masking(), test::equal_trajectories(8, kLength)), 8);
  input.log_probs.current_FL = at::full_like(input.log_probs.current_FL, kC);
  EXPECT_NEAR(elbo(input, kLength), kLength * kC, 1e-12);
  int extremes = 0;
  for (std::int64_t b = 0; b < 8; ++b) {
    std::vector<std::int64_t> views;
    for (const std::int64_t forward : {0, 1})
      if (test::find_view(input.plan, forward, b) >= 0) views.push_back(test::find_view(input.plan, forward, b));
    EXPECT_NEAR(elbo(test::select_views(input, views), kLength), (kLength + 1) * kC / (views.size() == 1 ? 2 : 1),
                1e-12);
    extremes += views.size() == 1;
  }
  EXPECT_EQ(extremes, 2) << "l = 0 and l = L";
}

TEST(EspoMasking, APlanDependsOnNothingButItsMicroBatch) {
  const auto all = test::equal_trajectories(9, 12);
  const std::vector<std::int64_t> some = {3, 4, 5};
  const auto strategy = masking({{"micro_batch", std::int64_t{3}}, {"num_mc", std::int64_t{2}}});
  const MaskPlan whole = test::draw_plan(*strategy, all, 7);
  const MaskPlan part = test::draw_plan(*strategy, test::select_responses(all, some), 7, some);
  for (std::size_t b = 0; b < some.size(); ++b)
    EXPECT_EQ(test::views_of(part, static_cast<std::int64_t>(b)), test::views_of(whole, some[b]));
}

TEST(EspoMasking, EveryOptimizerStepAndEverySampleHasItsOwnMasks) {
  const auto trajectories = test::equal_trajectories(4, 40);
  const auto strategy = masking({{"num_mc", std::int64_t{2}}});
  EXPECT_EQ(strategy->refresh(), PlanRefresh::kEachInnerIteration);
  const auto views = test::views_of(draw(*strategy, trajectories), 1);
  EXPECT_EQ(views, test::views_of(draw(*strategy, trajectories), 1));
  EXPECT_NE(views, test::views_of(draw(*strategy, trajectories, 0, 1), 1));
  EXPECT_NE(views, test::views_of(draw(*strategy, trajectories, 1, 0), 1));
  EXPECT_NE(views[0].substr(2), views[2].substr(2));
}

TEST(EspoMasking, EveryPositionIsMaskedEquallyOften) {
  constexpr std::int64_t kResponses = 600, kLength = 8;
  const MaskPlan plan = draw(*masking({{"coupled", false}}), test::equal_trajectories(kResponses, kLength));
  for (const double share : test::numbers(plan.masked_FL.to(at::kDouble).sum(0) / kResponses))
    EXPECT_NEAR(share, 0.5, 5 * 0.5 / std::sqrt(kResponses));  // five standard errors
}

// The estimate k1 has the gradient 1 by the ELBO, whatever the reference. The added term brings ELBO - ELBO_ref.
TEST(EspoLoss, TheGradientOfK1IsThatOfTheKl) {
  LossInput input = test::random_loss_input(draw(*masking(), test::equal_trajectories(1, 8)), 1);
  input.advantage_B = at::zeros_like(input.advantage_B);
  const auto with = [&](const char* kl) { return loss({{"kl", text(kl)}, {"beta", 1.0}}); };
  const auto estimate = [&](const char* kl) {
    test::MetricTotal logged;
    logged.add(with(kl)->evaluate(input), "kl");
    return logged.value() * 8;
  };
  const double difference = estimate("k1");  // ELBO - ELBO_ref
  EXPECT_NEAR(estimate("k2"), difference * difference / 2, 1e-9);
  const auto k1 = test::gradient(*with("k1"), input), k2 = test::gradient(*with("k2"), input);
  for (std::size_t i = 0; i < k1.size(); ++i) EXPECT_NEAR(k1[i], k2[i] * (1 + difference) / difference, 1e-9);
}

TEST(EspoLoss, AFarReferenceKeepsItsGradient) {
  LossInput input = test::random_loss_input(draw(*masking(), test::equal_trajectories(2, 8)), 2);
  input.advantage_B = at::zeros_like(input.advantage_B);
  input.log_probs.reference_FL = input.log_probs.reference_FL - 100;
  EXPECT_THAT(test::gradient(*loss({{"beta", 1.0}}), input), Each(testing::Ge(0)));
  EXPECT_GT(std::abs(test::gradient(*loss({{"beta", 1.0}}), input).front()) +
                std::abs(test::gradient(*loss({{"beta", 1.0}}), input).back()),
            1);
  for (const char* kl : {"k1", "k2", "k3"}) {
    for (const double g : test::gradient(*loss({{"kl", text(kl)}, {"beta", 1.0}}), input))
      ASSERT_TRUE(std::isfinite(g));
  }
}

TEST(EspoLoss, IgnoresTheWeightsOfThePlan) {
  LossInput input = test::random_loss_input(draw(*masking(), test::equal_trajectories(4, 8)), 4);
  const auto plain = test::gradient(*loss(), input);
  input.plan.weight_F = at::full_like(input.plan.response_F, 3, at::TensorOptions(at::kFloat));
  EXPECT_EQ(test::gradient(*loss(), input), plain);
}

}  // namespace drift::espo_properties_test
