// The policy that rollouts see: the model with its head, asked by position.

#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

#include <core/boundary/model_policy.h>
#include <core/rollout/runners_up.h>
#include <core/rollout/watched_policy.h>
#include <core/update/view_rows.h>

#include <drift/error.h>

#include <ATen/ops/softmax.h>
#include <gtest/gtest.h>

namespace drift::model_policy_test {

constexpr std::int64_t kVocabulary = 9;

ForwardInput positions(const std::vector<std::int64_t>& wanted) {
  ForwardInput input;
  input.tokens_BS = at::arange(2, 8, at::kLong).view({1, 6});
  input.rows_N = index_tensor(wanted);
  return input;
}

// A position is predicted by its own hidden row, or by the one before.
TEST(ModelPolicy, PredictsPositionsWhateverRowTheHeadReads) {
  for (const auto row : {PredictionRow::kSame, PredictionRow::kPrevious}) {
    const test::TinyModel model(kVocabulary, 5, at::kDouble, row);
    const std::int64_t before = row == PredictionRow::kPrevious ? 1 : 0;
    const auto hidden = model.forward({positions({}).tokens_BS, {}, {}});
    const auto expected = hidden.narrow(0, 3 - before, 2).matmul(model.lm_head_VH().t());
    EXPECT_TRUE(at::allclose(ModelPolicy(model).logits(positions({3, 4}), {}), expected));
  }
}

TEST(ModelPolicy, SamplesFromItsLogits) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const ModelPolicy policy(model);
  SamplingOptions options;
  options.temperature = 1;
  const auto row_M = index_tensor({0, 0, 1});
  const auto uniform_M = at::tensor(std::vector<double>{0.1, 0.9, 0.5}, at::kDouble);
  const auto sampled = policy.sample(positions({3, 4}), {}, row_M, uniform_M, options);
  const auto expected = sample_tokens(policy.logits(positions({3, 4}), {}), row_M, uniform_M, options);
  EXPECT_TRUE(sampled.token_M.equal(expected.token_M));
  EXPECT_TRUE(sampled.logprob_M.equal(expected.logprob_M));
}

/// One response of four positions to the prompt 2 3, after one position of padding.
Trajectories written_response(const ModelTraits& traits) {
  Trajectories made;
  made.prompts.tokens_BP = at::tensor(std::vector<std::int64_t>{traits.pad_id, 2, 3}).view({1, 3});
  made.prompts.mask_BP = at::tensor(std::vector<std::int64_t>{0, 1, 1}).view({1, 3}).to(at::kBool);
  made.tokens_BL = at::tensor(std::vector<std::int64_t>{4, 5, 4, 6}).view({1, 4});
  made.step_BL = at::tensor(std::vector<std::int64_t>{1, 0, 1, -1}).view({1, 4}).to(at::kInt);
  return made;
}

TEST(RunnersUp, AreTheMostLikelyOthersInTheStateThatThePositionWasCommittedFrom) {
  for (const auto row : {PredictionRow::kSame, PredictionRow::kPrevious}) {
    const test::TinyModel model(kVocabulary, 5, at::kDouble, row);
    const ModelPolicy policy(model);
    const Trajectories made = written_response(model.traits());
    const auto found = runners_up(policy, made, 0, 2);
    ASSERT_EQ(found.size(), 4u);
    EXPECT_TRUE(found[3].empty()) << "never committed";

    const std::int64_t mask = model.traits().mask_id;
    const std::vector<std::vector<std::int64_t>> states = {{2, 3, mask, mask, mask, mask}, {2, 3, mask, 5, mask, mask}};
    for (const auto& [position, state] : {std::pair(1, 0), std::pair(0, 1), std::pair(2, 1)}) {
      ForwardInput input;
      input.tokens_BS = at::tensor(states[static_cast<std::size_t>(state)]).view({1, 6});
      input.rows_N = index_tensor({2 + position});
      const auto probability_V = policy.logits(input, {})[0].to(at::kFloat).softmax(-1);
      const auto chosen = made.tokens_BL[0][position].item<std::int64_t>();
      double last = 1;
      ASSERT_EQ(found[static_cast<std::size_t>(position)].size(), 2u);
      for (const auto& [token, probability] : found[static_cast<std::size_t>(position)]) {
        EXPECT_NE(token, chosen);
        EXPECT_NEAR(probability, probability_V[token].item<double>(), 1e-6);
        EXPECT_LE(probability, last);
        last = probability;
      }
      const auto likelier = (probability_V > last + 1e-7).sum().item<std::int64_t>();
      EXPECT_LE(likelier, 2) << "the first runner-up, and perhaps the chosen one";
    }
  }
}

TEST(WatchedPolicy, TellsTheStateBeforeEachForward) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const ModelPolicy policy(model);
  std::vector<std::vector<std::int64_t>> seen;
  const WatchedPolicy watched(policy, 2, 4, [&](const std::vector<std::int64_t>& tokens) { seen.push_back(tokens); });
  EXPECT_TRUE(watched.logits(positions({3, 4}), {}).equal(policy.logits(positions({3, 4}), {})));
  ForwardInput prompt_alone = positions({1});
  prompt_alone.tokens_BS = prompt_alone.tokens_BS.narrow(1, 0, 2);
  watched.logits(prompt_alone, {});
  EXPECT_EQ(seen, (std::vector<std::vector<std::int64_t>>{{4, 5, 6, 7}}));
}

TEST(ModelPolicy, WhatTheModelCannotDoIsRefused) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const ModelPolicy policy(model);
  EXPECT_EQ(policy.make_cache(1, 6), nullptr);
  auto blocks = positions({3}), placed = positions({3}), adapted = positions({3});
  blocks.block_BS = at::full({1, 6}, 0, at::kLong);
  placed.positions_BS = at::arange(6, at::kLong).view({1, 6});
  adapted.adapted_B = at::full({1}, false, at::kBool);
  for (const auto& input : {blocks, placed, adapted}) EXPECT_THROW(policy.logits(input, {}), Error);
}

}  // namespace drift::model_policy_test
