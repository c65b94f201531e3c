// The policy that rollouts see: the model with its head, asked by position.

#include "tests/support/tiny_model.h"

#include <core/base/model_policy.h>
#include <core/update/view_rows.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace drift {
namespace {

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

}  // namespace
}  // namespace drift
