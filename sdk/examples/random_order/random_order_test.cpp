#include "random_order.cpp"

#include <drift/unit_test.h>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

namespace {

/// Responses of 8 tokens, three each forward, from a policy that finds every token equally likely.
drift::Trajectories write(std::int64_t responses) {
  drift::ModelTraits traits;
  traits.vocabulary_size = 100;
  traits.hidden_size = 1;
  traits.mask_id = 99;
  traits.pad_id = 0;
  traits.end_id = 1;
  traits.forbidden_output_ids = {{0, 2}, {99, 100}};
  const drift::unit_test::UniformPolicy policy(traits);
  drift::unit_test::RecordingHost host;
  const auto rollout =
      drift::unit_test::make<RandomOrder>(host, {{"length", std::int64_t{8}}, {"tokens_per_forward", std::int64_t{3}}});
  drift::RolloutInput input;
  input.policy = &policy;
  input.prompts = drift::unit_test::prompts(responses, /*length=*/4);
  drift::Trajectories made;
  rollout->generate(input, made);
  return made;
}

TEST(RandomOrder, WritesEveryPositionOnce) {
  const drift::Trajectories made = write(20);
  EXPECT_TRUE((made.tokens_BL != 99).all().item<bool>());
  EXPECT_TRUE((made.forwards_B == 3).all().item<bool>());
  for (const auto& [forward, tokens] : {std::pair{0, 3}, {1, 3}, {2, 2}})
    EXPECT_TRUE(((made.step_BL == forward).sum(1) == tokens).all().item<bool>()) << "forward " << forward;
}

TEST(RandomOrder, AResponseIsTheSameInAnyBatch) {
  EXPECT_TRUE(at::equal(write(5).tokens_BL.narrow(0, 0, 2), write(2).tokens_BL));
}

}  // namespace
