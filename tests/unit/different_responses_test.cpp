// A rollout that writes one response for a whole group is told from a policy that is sure.

#include <core/train/different_responses.h>

#include <core/base/model_policy.h>
#include <core/boundary/guarded.h>
#include <drift/error.h>

#include "tests/support/tiny_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drift::different_responses_test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kVocabulary = 30, kPrompt = 3, kLength = 12, kGroup = 4, kGroups = 3;

/// From left to right, one token a forward.
class LeftToRight final : public Rollout {
 public:
  LeftToRight(double temperature, bool draws) : temperature_(temperature), draws_(draws) {}
  std::int64_t response_length() const override { return kLength; }

  void generate(const RolloutInput& input, Trajectories& made) const override {
    const std::int64_t responses = input.prompts.tokens_BP.size(0);
    const auto& traits = input.policy->traits();
    made.prompts = input.prompts;
    made.tokens_BL = at::full({responses, kLength}, traits.mask_id, at::kLong);
    made.step_BL = at::zeros({responses, kLength}, at::kInt);
    made.commit_logprob_BL = at::zeros({responses, kLength});
    made.forwards_B = at::full({responses}, kLength, at::kLong);
    SamplingOptions options;
    options.temperature = temperature_;
    options.forbidden_ids = traits.forbidden_output_ids;
    const auto all_B = at::arange(responses, at::kLong);
    for (std::int64_t i = 0; i < kLength; ++i) {
      ForwardInput forward;
      forward.tokens_BS = at::cat({input.prompts.tokens_BP, made.tokens_BL}, 1);
      forward.rows_N = all_B * (kPrompt + kLength) + kPrompt + i;
      const auto uniform_B = draws_ ? uniform(input.random, input.step, all_B + input.first_response,
                                              at::full({responses}, i, at::kLong), all_B * 0)
                                    : at::full({responses}, 0.4, at::kDouble);
      const auto sampled = input.policy->sample(forward, {}, all_B, uniform_B, options);
      made.tokens_BL.select(1, i).copy_(sampled.token_M);
      made.commit_logprob_BL.select(1, i).copy_(sampled.logprob_M);
      made.step_BL.select(1, i).fill_(i);
    }
    made.valid_BL = made.tokens_BL != traits.pad_id;
  }

 private:
  double temperature_;
  bool draws_;
};

struct DifferentResponses : ::testing::Test {
  DifferentResponses() {
    const auto group_B = at::arange(kGroups * kGroup, at::kLong).floor_divide(kGroup);
    input.prompts = {(group_B.unsqueeze(1) * 5 + at::arange(kPrompt, at::kLong)).remainder(20) + 2,
                     at::ones({kGroups * kGroup, kPrompt}, at::kBool), group_B};
    input.random = RandomStream(1, "rollout");
    input.policy = &policy;
  }

  void scale_logits(double factor) {
    const at::NoGradGuard no_gradient;
    model.lm_head_VH().mul_(factor);
  }

  /// What the run says of a rollout; "" if it goes on.
  std::string judge(double temperature, bool draws) {
    const at::NoGradGuard no_gradient;
    const auto rollout =
        guarded(std::make_unique<LeftToRight>(temperature, draws), callee("rollout `left` of plugin `mine`"));
    rollout->generate(input, made);
    try {
      require_different_responses(*rollout, input, made, kGroup);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  test::TinyModel model{kVocabulary, 8, at::kFloat};
  const ModelPolicy policy{model};
  RolloutInput input;
  Trajectories made;
};

TEST_F(DifferentResponses, ARolloutThatIgnoresItsStreamIsNamed) {
  const std::string error = judge(/*temperature=*/1, /*draws=*/false);
  EXPECT_THAT(error, HasSubstr("rollout `left` of plugin `mine`"));
  EXPECT_THAT(error, HasSubstr("writes the same response for every member of a group"));
  EXPECT_THAT(error, HasSubstr("ignores its random stream"));
}

TEST_F(DifferentResponses, ARolloutThatDrawsGoesOn) { EXPECT_EQ(judge(1, true), ""); }

TEST_F(DifferentResponses, ASurePolicyGoesOn) {
  scale_logits(1000);
  EXPECT_EQ(judge(1, true), "");
  EXPECT_FALSE(equal_against_chance(made, kGroup, 1)) << "its own log-probabilities say that it is sure";
  EXPECT_TRUE(equal_against_chance(made, kGroup, -1)) << "the case is one of equal responses";
}

// The recorded log-probabilities are those at temperature 1, which did not decide.
TEST_F(DifferentResponses, ALowTemperatureThatMakesAnUnsurePolicySureGoesOn) {
  scale_logits(0.01);
  EXPECT_EQ(judge(1e-6, true), "");
  EXPECT_TRUE(equal_against_chance(made, kGroup, 200));
}

TEST_F(DifferentResponses, EqualTokensInAnotherOrderAreNotEqual) {
  judge(1, false);
  ASSERT_TRUE(equal_against_chance(made, kGroup, 200));
  made.step_BL[kGroup + 1][0].fill_(1);
  EXPECT_FALSE(equal_against_chance(made, kGroup, 200));
}

TEST_F(DifferentResponses, OneGroupThatDiffersClearsTheOthers) {
  judge(1, false);
  made.tokens_BL[2 * kGroup][0].fill_(made.tokens_BL[2 * kGroup][0].item<std::int64_t>() == 5 ? 6 : 5);
  EXPECT_FALSE(equal_against_chance(made, kGroup, 200));
}

}  // namespace
}  // namespace drift::different_responses_test
