// Supervised training on block models: from given random numbers the masks, the loss and a gradient.

#include "tests/golden/set/golden_set.h"
#include "tests/support/alone.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <drift/error.h>

#include <core/train/pretraining.h>
#include <core/update/policy_gradient.h>

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>

namespace drift::golden_sft_test {

using namespace test;

/// A row of texts whose places are given; `label_BL` as a loss has them, -100: not learned.
PretrainBatch texts_of(const at::Tensor& tokens_BL, const at::Tensor& learned_BL, const at::Tensor& place_BL) {
  PretrainBatch batch;
  batch.texts = {learned_BL, (place_BL == 0).view({-1}).cumsum(0).sub(1).view_as(place_BL), place_BL};
  Trajectories& rows = batch.trajectories;
  const std::int64_t count = tokens_BL.size(0);
  rows.prompts = {at::zeros({count, 0}, at::kLong), at::ones({count, 0}, at::kBool), at::arange(count, at::kLong)};
  rows.tokens_BL = tokens_BL;
  rows.valid_BL = at::ones_like(tokens_BL, at::kBool);
  rows.step_BL = at::zeros_like(tokens_BL, at::kInt);
  rows.text_BL = batch.texts.text_BL;
  return batch;
}

/// Of the draws `level` for consecutive stretches of positions; `stretch_BL` numbers them over all rows.
NoiseNumbers numbers_of(const SafetensorsFile& file, const at::Tensor& stretch_BL) {
  return {file.tensor("draw_t").to(at::kDouble).view({-1}).index({stretch_BL}),
          file.tensor("draw_u").to(at::kDouble).view_as(stretch_BL)};
}

struct Given {
  PretrainBatch batch;
  NoiseRule rule;
  NoiseNumbers numbers;
};

Given given_by(const GoldenCase& golden, const SafetensorsFile& file) {
  const auto tokens_BL = file.tensor("input_ids");
  const std::int64_t block = golden.json.at("block");
  auto place_BL = at::arange(tokens_BL.size(1), at::kLong).expand_as(tokens_BL).contiguous();
  if (golden.mode == "sft_sdar") {
    auto batch = texts_of(tokens_BL, file.tensor("labels") != -100, file.tensor("position_ids"));
    auto numbers = numbers_of(file, batch.texts.text_BL);
    return {std::move(batch), {PretrainNoise::kText, 0.001, 1, block}, numbers};
  }
  if (golden.mode == "sft_fast_dllm_v2") {
    const auto block_BL = at::arange(tokens_BL.numel(), at::kLong).view_as(tokens_BL).div(block, "floor");
    return {texts_of(tokens_BL, file.tensor("labels") != -100, place_BL),
            {PretrainNoise::kComplementary, 0.001, 1, block, /*scores_first=*/false},
            numbers_of(file, block_BL)};
  }
  auto batch = texts_of(tokens_BL, place_BL >= file.tensor("prompt_length").view({-1, 1}), place_BL);
  auto numbers = numbers_of(file, batch.texts.text_BL);
  return {std::move(batch), {PretrainNoise::kMean, 0.3, 0.8, block}, numbers};
}

void check(const GoldenCase& golden) {
  const auto file = golden.tensors();
  const auto [batch, rule, numbers] = given_by(golden, file);
  const auto plan = rule.plan(batch.texts, numbers);
  auto masked_FL = file.tensor("masked");
  if (file.find("masked_complement") != nullptr) masked_FL = at::cat({masked_FL, file.tensor("masked_complement")});
  EXPECT_TRUE(at::equal(plan.masked_FL, masked_FL != 0));

  const auto model = golden.model();
  const auto update = update_batch(batch.trajectories, at::ones({batch.trajectories.tokens_BL.size(0)}), plan, 1);
  const auto computed = policy_gradient(alone, *model, PretrainingLoss(), update, std::int64_t{1} << 30);
  EXPECT_NEAR(computed.loss, golden.json.at("loss").get<double>(), 1e-3);
  if (file.find("noisy_logits") != nullptr) {  // of row j - 1 for the token j
    const auto logits_FLV = file.tensor("noisy_logits").narrow(1, 0, plan.target_FL.size(1) - 1);
    const auto token_FL1 = batch.trajectories.tokens_BL.repeat({2, 1}).narrow(1, 1, logits_FLV.size(1)).unsqueeze(2);
    const auto expected_FL = logits_FLV.log_softmax(-1).gather(2, token_FL1).squeeze(2);
    const auto target_FL = plan.target_FL.narrow(1, 1, logits_FLV.size(1));
    EXPECT_TRUE(at::allclose(computed.current_FL.narrow(1, 1, logits_FLV.size(1)).masked_select(target_FL),
                             expected_FL.masked_select(target_FL), 1e-5, golden.json.at("atol").get<double>()));
  }
  if (!golden.json.contains("grad_atol")) return;
  const auto parameters = model->parameters();
  for (const auto& [name, tolerance] : golden.json.at("grad_atol").items()) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p].name != name) continue;
      EXPECT_TRUE(at::allclose(computed.gradients[p], file.tensor("grad." + name), 1e-5, tolerance.get<double>()))
          << name;
    }
  }
}

TEST(GoldenSft, MasksLossesAndGradientsAreTheOriginals) {
  for (const auto& golden : golden_cases("sft")) {
    SCOPED_TRACE(golden.id);
    try {
      check(golden);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

}  // namespace drift::golden_sft_test
