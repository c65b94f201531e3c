// Masks and weights of supervised block diffusion (core/train/pretraining_noise.h), and the texts they fall on.

#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/train/pretraining.h>

#include <set>

namespace drift::pretraining_noise_test {

using namespace testing;

constexpr std::int64_t kBlock = 4, kTexts = 400, kLength = 10;

/// Texts with prompts of 3 tokens; responses of 10 and 7 positions take turns.
PretrainBatch texts(std::int64_t length = 0, std::int64_t count = kTexts) {
  Prompts prompts{at::full({count, 5}, 1, at::kLong), at::ones({count, 5}, at::kBool), at::arange(count, at::kLong)};
  prompts.mask_BP.narrow(1, 0, 2).fill_(false);
  std::vector<std::vector<std::int64_t>> responses;
  for (std::int64_t b = 0; b < count; ++b) responses.emplace_back(b % 2 == 0 ? kLength : 7, 2);
  return responses_to_learn(std::move(prompts), responses, length, /*pad_id=*/0);
}

MaskPlan draw(const NoiseRule& rule, const PretrainBatch& batch) {
  return rule.plan(batch.texts, rule.draw(batch.texts, RandomStream(3, "noise"), 1));
}

double share(const at::Tensor& mask, const at::Tensor& of) {
  return (mask & of).sum().item<double>() / of.sum().item<double>();
}

TEST(PretrainingNoise, ResponsesThatAreNotFilledEnd) {
  const auto batch = texts();
  EXPECT_EQ(batch.texts.label_BL.sum().item<std::int64_t>(), kTexts / 2 * (kLength + 7));
  EXPECT_TRUE(at::equal(batch.texts.place_BL[1], at::arange(3, 3 + kLength, at::kLong)));
  const auto plan = draw({PretrainNoise::kText, 0.001, 1, kBlock}, batch);
  EXPECT_TRUE(at::equal(plan.attended_FL, batch.texts.label_BL));
  EXPECT_FALSE(draw({PretrainNoise::kMean, 0.3, 0.8, kBlock}, texts(12)).attended_FL.defined());
  EXPECT_EQ(texts(12).texts.label_BL.sum().item<std::int64_t>(), kTexts * 12) << "what fills is learned";
}

TEST(PretrainingNoise, OfATextIsWeightedSoThatItsMeanIsThatOfAllTokens) {
  const auto batch = texts();
  const auto plan = draw({PretrainNoise::kText, 0.001, 1, kBlock}, batch);
  EXPECT_TRUE(at::equal(plan.target_FL, plan.masked_FL));
  EXPECT_TRUE(plan.masked_FL.any(1).all().item<bool>()) << "a text without a mask is drawn again";
  // Half of the tokens, if the one text in ten that gets no mask were not drawn again.
  EXPECT_THAT(share(plan.masked_FL, batch.texts.label_BL), DoubleNear(0.56, 0.03));
  EXPECT_THAT((plan.token_weight_FL * plan.target_FL).sum().item<double>(), DoubleNear(1, 0.2));
}

TEST(PretrainingNoise, OfAMeanHasEqualWeights) {
  const auto plan = draw({PretrainNoise::kMean, 0.3, 0.8, kBlock}, texts());
  const auto of_targets = plan.token_weight_FL.masked_select(plan.target_FL);
  EXPECT_TRUE(at::allclose(of_targets, at::full_like(of_targets, 1.0 / static_cast<double>(of_targets.numel()))));
}

TEST(PretrainingNoise, OfComplementsMasksEachTokenOnceAndBlocksAlike) {
  const auto batch = texts();
  NoiseRule rule{PretrainNoise::kComplementary, 0.001, 1, kBlock, /*scores_first=*/true};
  const auto plan = draw(rule, batch);
  ASSERT_EQ(plan.masked_FL.size(0), 2 * kTexts);
  const auto first = plan.masked_FL.narrow(0, 0, kTexts), second = plan.masked_FL.narrow(0, kTexts, kTexts);
  EXPECT_TRUE(at::equal(first | second, batch.texts.label_BL));
  EXPECT_FALSE((first & second).any().item<bool>());
  EXPECT_TRUE(at::equal(plan.response_F.narrow(0, kTexts, kTexts), at::arange(kTexts, at::kLong)));
  const auto numbers = rule.draw(batch.texts, RandomStream(3, "noise"), 1);
  // Places 3 | 4 … 7 | 8 … 11 | 12 of the text are positions 0 | 1 … 4 | 5 … 8 | 9 of the response.
  const double* level = numbers.level_BL.const_data_ptr<double>();
  EXPECT_EQ((std::set<double>(level + 1, level + 5).size()), 1u);
  EXPECT_EQ((std::set<double>(level, level + kLength).size()), 4u);
}

TEST(PretrainingNoise, OfTokensHasARatioForEach) {
  const auto batch = texts(kLength);
  NoiseRule rule{PretrainNoise::kSemiAutoregressive, 0.1, 0.9, kBlock};
  const auto numbers = rule.draw(batch.texts, RandomStream(3, "noise"), 1);
  const double* level = numbers.level_BL.const_data_ptr<double>();
  EXPECT_EQ((std::set<double>(level, level + kLength).size()), 10u);
  const auto plan = rule.plan(batch.texts, numbers);
  EXPECT_EQ(plan.block_origin, BlockOrigin::kResponse);
  EXPECT_THAT(share(plan.masked_FL, batch.texts.label_BL), DoubleNear(0.5, 0.03));
  EXPECT_NEAR(plan.token_weight_FL[0][0].item<double>(), 1.0 / (kTexts * kLength), 1e-9);
}

TEST(PretrainingNoise, DoesNotScoreATextsFirstTokenThatNoRowPredicts) {
  auto batch = responses_to_learn(no_prompts(2), {{5, 6, 7}, {8, 9}}, 0, 0);
  const NoiseNumbers numbers{at::zeros({2, 3}, at::kDouble), at::zeros({2, 3}, at::kDouble)};  // all are masked
  NoiseRule rule{PretrainNoise::kText, 1, 1, kBlock, /*scores_first=*/false};
  const auto plan = rule.plan(batch.texts, numbers);
  EXPECT_TRUE(at::equal(plan.masked_FL, at::tensor({1, 1, 1, 1, 1, 0}, at::kLong).view({2, 3}) != 0));
  EXPECT_TRUE(at::equal(plan.target_FL, at::tensor({0, 1, 1, 0, 1, 0}, at::kLong).view({2, 3}) != 0));
}

TEST(PretrainingNoise, IsTheSameInABatchOfAnySize) {
  for (const auto noise : {PretrainNoise::kText, PretrainNoise::kComplementary, PretrainNoise::kMean}) {
    const NoiseRule rule{noise, 0.001, 1, kBlock};
    const auto few = draw(rule, texts(0, 2)), many = draw(rule, texts());
    EXPECT_TRUE(at::equal(few.masked_FL.narrow(0, 0, 2), many.masked_FL.narrow(0, 0, 2)));
  }
}

}  // namespace drift::pretraining_noise_test
