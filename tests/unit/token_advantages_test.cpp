// Where tokens have advantages of their own, as a rollout correction gives them, every shipped loss follows them.

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/tensors.h"

#include <gmock/gmock.h>

namespace drift::token_advantages_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

struct ShippedLoss {
  const char* plugin;
  Values values;
};

void PrintTo(const ShippedLoss& loss, std::ostream* out) { *out << loss.plugin; }

struct TokenAdvantages : ::testing::TestWithParam<ShippedLoss> {
  /// Eight responses at the first optimizer step, two views each; advantages of either sign and none.
  TokenAdvantages() {
    const auto trajectories = test::random_trajectories(8, 6, 3);
    const auto masking = test::create<MaskingStrategy>("rldf", "rldf", {{"k", std::int64_t{2}}});
    input.plan = test::draw_plan(*masking, trajectories);
    input.log_probs.current_FL = test::random_log_probs(input.plan.target_FL, 1);
    input.log_probs.old_FL = input.log_probs.reference_FL = input.log_probs.current_FL;
    input.advantage_B = test::vector_tensor({1, -1, 0.5, -0.5, 2, -0.25, 0, -1.75});
    input.valid_BL = trajectories.valid_BL;
    test::fill_totals(input, /*group_size=*/4, /*optimizer_steps=*/2);
  }

  LossInput weighted(const at::Tensor& weight_BL) const {
    LossInput with = input;
    with.advantage_BL = input.advantage_B.unsqueeze(1) * weight_BL;
    return with;
  }

  const std::unique_ptr<LossEstimator> loss =
      test::create<LossEstimator>(GetParam().plugin, GetParam().plugin, GetParam().values);
  LossInput input;
};

TEST_P(TokenAdvantages, EqualOnesAreTheResponses) {
  const LossInput equal = weighted(at::ones_like(input.valid_BL, at::kDouble));
  EXPECT_NEAR(loss->evaluate(equal).value.item<double>(), loss->evaluate(input).value.item<double>(), 1e-12);
  EXPECT_THAT(test::gradient(*loss, equal), Pointwise(DoubleNear(1e-14), test::gradient(*loss, input)));
}

TEST_P(TokenAdvantages, AWeightMultipliesTheGradientOfItsTokenInAllItsViewsAndOfNoOther) {
  const auto weight_BL = test::random_log_probs(at::ones_like(input.valid_BL), 7).exp() * 2;
  // Where the advantage is 0, its multiples are, too.
  const auto factor_BL = at::where((input.advantage_B == 0).unsqueeze(1), at::ones_like(weight_BL), weight_BL);
  const auto plain = test::gradient(*loss, input), by_token = test::gradient(*loss, weighted(weight_BL));
  const auto factor = test::numbers(factor_BL.index_select(0, input.plan.response_F));
  ASSERT_EQ(plain.size(), factor.size());
  double moved = 0;
  for (std::size_t place = 0; place < plain.size(); ++place) {
    EXPECT_NEAR(by_token[place], factor[place] * plain[place], 1e-14);
    moved += std::abs(by_token[place] - plain[place]);
  }
  EXPECT_GT(moved, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(
    Losses, TokenAdvantages,
    ::testing::Values(ShippedLoss{"rldf", {{"beta", 0.0}}}, ShippedLoss{"rldf", {{"beta", 0.0}, {"form", "reinforce"}}},
                      ShippedLoss{"d1", {{"beta", 0.0}}}, ShippedLoss{"tracerl", {{"beta", 0.0}}},
                      ShippedLoss{"coupled_grpo", {{"beta", 0.0}}}, ShippedLoss{"espo", {{"beta", 0.0}}},
                      ShippedLoss{"espo", {{"beta", 0.0}, {"length", "valid"}}}, ShippedLoss{"spg", {}},
                      ShippedLoss{"spg", {{"negative", "elbo"}}}, ShippedLoss{"wd1", {}}, ShippedLoss{"agrpo", {}},
                      ShippedLoss{"gdpo", {{"beta", 0.0}}}, ShippedLoss{"bgpo", {}}, ShippedLoss{"vrpo", {}},
                      ShippedLoss{"dipo", {}}, ShippedLoss{"ebpo", {}}));

}  // namespace drift::token_advantages_test
