// Laws of DiPO, EBPO and CJ-GRPO, and of the weights of tokens that their plans have.

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/boundary/checked.h>

#include <drift/error.h>
#include <drift/plan_builder.h>

#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>

namespace drift::block_objectives_properties_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

constexpr std::int64_t kBlock = 4;

struct Blocks : Test {
  MaskPlan plan_of(const std::string& name, const Values& values, std::int64_t block_size = kBlock) {
    MaskingInput input = test::masking_input(trajectories);
    input.block_size = block_size;
    return test::draw_plan(*test::create<MaskingStrategy>(name, name, values), input);
  }
  at::Tensor per_response(const MaskPlan& plan, const at::Tensor& values_F) const {
    return at::zeros({trajectories.tokens_BL.size(0)}, values_F.options()).index_add(0, plan.response_F, values_F);
  }
  LossInput input_of(MaskPlan plan) const {
    LossInput input = test::random_loss_input(plan, trajectories.tokens_BL.size(0));
    input.valid_BL = trajectories.valid_BL;
    test::fill_totals(input, /*group_size=*/4, /*optimizer_steps=*/2);
    return input;
  }

  const Trajectories trajectories = test::random_trajectories(8, 10, 3);
  const at::Tensor tokens_BL = trajectories.valid_BL & (trajectories.step_BL >= 0);
};

TEST_F(Blocks, DipoScoresEveryTokenOnceInAtMostAsManyViewsAsABlockHasTokens) {
  for (const std::int64_t shrink : {1, 3}) {
    const MaskPlan plan = plan_of("dipo", {{"shrink", shrink}});
    const auto scored_BL =
        at::zeros(tokens_BL.sizes(), at::kLong).index_add(0, plan.response_F, plan.target_FL.to(at::kLong));
    EXPECT_TRUE(at::equal(scored_BL, tokens_BL.to(at::kLong)));
    EXPECT_EQ(plan.terms, shrink == 1 ? kBlock : 1);
    EXPECT_TRUE((plan.masked_FL | plan.target_FL.logical_not()).all().item<bool>()) << "what is scored is masked";
  }
}

TEST_F(Blocks, WithoutBlocksAResponseIsOne) {
  const MaskPlan plan = plan_of("dipo", {}, /*block_size=*/0);
  const MaskPlan slices = plan_of("tracerl", {{"shrink", std::int64_t{1}}}, /*block_size=*/0);
  EXPECT_TRUE(at::equal(plan.target_FL, slices.target_FL)) << "one view for each step";
  for (const double masks : test::numbers(plan_of("ebpo", {}, 0).masked_FL.sum(1))) EXPECT_GE(masks, 1);
}

TEST_F(Blocks, WeightsOfTransitionsAddUpToOne) {
  const MaskPlan plan = plan_of("dipo", {{"token_weights", std::string("transition")}});
  const auto mass_B = per_response(plan, (plan.token_weight_FL * plan.target_FL).sum(1));
  EXPECT_THAT(test::numbers(mass_B), Pointwise(DoubleNear(1e-6), test::numbers(tokens_BL.any(1).to(at::kFloat))));
}

TEST_F(Blocks, EveryViewOfEbpoNoisesEveryBlockAndCountsEveryTokenOnce) {
  const MaskPlan plan = plan_of("ebpo", {{"num_mc", std::int64_t{5}}});
  MaskingInput input = test::masking_input(trajectories);
  input.block_size = kBlock;
  const Responses responses(input);
  for (std::int64_t f = 0; f < plan.response_F.size(0); ++f) {
    const std::int64_t b = plan.response_F[f].item<std::int64_t>();
    const auto block = responses.blocks(b, BlockOrigin::kText);
    std::map<std::int64_t, std::pair<double, double>> counted;  // of each block: tokens, their weights
    for (std::int64_t i = 0; i < responses.length(); ++i) {
      if (!responses[b].valid[i]) continue;
      auto& [tokens, weights] = counted[block[static_cast<std::size_t>(i)]];
      ++tokens;
      if (plan.target_FL[f][i].item<bool>()) weights += plan.token_weight_FL[f][i].item<double>();
    }
    for (const auto& [number, sums] : counted) EXPECT_NEAR(sums.first, sums.second, 1e-5);
  }
}

TEST_F(Blocks, AWeightOfAllTokensOfAViewIsTheViews) {
  const MaskPlan plain = plan_of("dipo", {});
  const auto weight_F = test::uniforms(plain.response_F.size(0)).to(at::kFloat) + 0.5;
  const std::vector<std::pair<std::string, Values>> losses = {{"d1", {}},
                                                              {"tracerl", {}},
                                                              {"bgpo", {}},
                                                              {"gdpo", {}},
                                                              {"vrpo", {}},
                                                              {"dipo", {}},
                                                              {"ebpo", {{"beta", 0.1}}},
                                                              {"dipo", {{"mode", std::string("dapo")}}}};
  for (const auto& [name, values] : losses) {
    const auto loss = test::create<LossEstimator>(name, name, values);
    LossInput by_view = input_of(plain), by_token = input_of(plain);
    by_view.plan.weight_F = weight_F;
    by_token.plan.token_weight_FL = weight_F.unsqueeze(1).expand(plain.target_FL.sizes()).contiguous();
    EXPECT_NEAR(checked_loss(*loss, by_view).value.item<double>(), checked_loss(*loss, by_token).value.item<double>(),
                1e-6)
        << name;
  }
}

TEST_F(Blocks, ALossThatDoesNotCountWeightsOfTokensRefusesThem) {
  LossInput input = input_of(plan_of("ebpo", {}));
  const auto loss = test::create<LossEstimator>("espo", "espo");
  try {
    checked_loss(*loss, input);
    FAIL() << "it counted them";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not count the weights of tokens"));
  }
  input.plan.token_weight_FL = at::Tensor();
  EXPECT_NO_THROW(checked_loss(*loss, input));
}

TEST_F(Blocks, DapoDividesByTheLengthTimesTheViewsByTheBlock) {
  const LossInput input = input_of(plan_of("dipo", {}));
  std::vector<double> divisor(2);
  for (const double b : test::numbers(input.plan.response_F)) {
    const auto response = static_cast<std::int64_t>(b);
    divisor[static_cast<std::size_t>(response / 4)] +=
        trajectories.valid_BL[response].sum().item<double>() / static_cast<double>(kBlock);
  }
  const auto value = [&](const Values& values) {
    return test::create<LossEstimator>("dipo", "dipo", values)->evaluate(input).value.item<double>();
  };
  EXPECT_NEAR(value({{"mode", std::string("dapo")}}), value({{"mode", std::string("dapo")}, {"group_tokens", divisor}}),
              1e-12);
}

TEST_F(Blocks, TheSumIsTheMeanOverResponses) {
  const MaskPlan plan = plan_of("dipo", {{"token_weights", std::string("transition")}});
  LossInput input = input_of(plan);
  input.log_probs.old_FL = input.log_probs.current_FL;  // every ratio is 1
  const auto loss = test::create<LossEstimator>("d1", "d1", {{"norm", std::string("sum")}, {"beta", 0.0}});
  const auto has_token_B = tokens_BL.any(1).to(at::kDouble);
  EXPECT_NEAR(loss->evaluate(input).value.item<double>(),
              -(input.advantage_B.to(at::kDouble) * has_token_B).sum().item<double>() / 8, 1e-6);
}

}  // namespace drift::block_objectives_properties_test
