#include <core/train/pretraining_noise.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace drift {

std::int64_t NoiseRule::first_of_level(std::int64_t place) const {
  if (noise == PretrainNoise::kSemiAutoregressive) return place;
  if (noise == PretrainNoise::kComplementary && block > 0) return place / block * block;
  return 0;
}

NoiseNumbers NoiseRule::draw(const LearnedTexts& texts, const RandomStream& random, std::int64_t step) const {
  const auto level_random = random.child("mask ratio"), chance_random = random.child("mask");
  const std::int64_t rows = texts.label_BL.size(0), length = texts.label_BL.size(1);
  const std::int64_t tries = noise == PretrainNoise::kText ? 10 : 1;
  const auto label_BL = texts.label_BL.contiguous(), place_BL = texts.place_BL.contiguous();
  NoiseNumbers numbers{at::zeros({rows, length}, at::kDouble), at::zeros({rows, length}, at::kDouble)};
  for (std::int64_t b = 0; b < rows; ++b) {
    const bool* label = label_BL.const_data_ptr<bool>() + b * length;
    const std::int64_t* place = place_BL.const_data_ptr<std::int64_t>() + b * length;
    double* level = numbers.level_BL.data_ptr<double>() + b * length;
    double* chance = numbers.chance_BL.data_ptr<double>() + b * length;
    bool has_mask = false;
    for (std::int64_t attempt = 0; attempt < tries && !has_mask; ++attempt) {
      for (std::int64_t i = 0; i < length; ++i) {
        if (!label[i]) continue;
        level[i] = level_random.uniform({step, b, first_of_level(place[i]), attempt});
        chance[i] = chance_random.uniform({step, b, place[i], attempt});
        has_mask = has_mask || chance[i] < ratio(level[i]);
      }
    }
  }
  return numbers;
}

MaskPlan NoiseRule::plan(const LearnedTexts& texts, const NoiseNumbers& numbers) const {
  const bool complementary = noise == PretrainNoise::kComplementary;
  const std::int64_t rows = texts.label_BL.size(0), terms = complementary ? 2 : 1;
  const auto ratio_BL = minimum + (maximum - minimum) * numbers.level_BL;
  const auto masked_BL = texts.label_BL & (numbers.chance_BL < ratio_BL);
  MaskPlan plan;
  plan.terms = terms;
  plan.response_F = at::arange(rows, at::kLong).repeat({terms});
  plan.term_F = at::arange(terms, at::kLong).repeat_interleave(rows);
  plan.masked_FL = complementary ? at::cat({masked_BL, texts.label_BL & ~masked_BL}) : masked_BL;
  plan.target_FL = scores_first ? plan.masked_FL : plan.masked_FL & (texts.place_BL > 0).repeat({terms, 1});
  plan.attended_FL = texts.attended_BL.defined() ? texts.attended_BL.repeat({terms, 1}) : at::Tensor();
  plan.first_of_block = FirstOfBlock::kNoisy;
  auto weight_FL = at::ones_like(plan.target_FL, at::kDouble);
  if (noise == PretrainNoise::kText) {
    weight_FL = 1 / ratio_BL / texts.label_BL.sum();
  } else if (noise == PretrainNoise::kSemiAutoregressive) {
    weight_FL = weight_FL / static_cast<double>(weight_FL.numel());
    plan.block_origin = BlockOrigin::kResponse;
  } else {
    weight_FL = weight_FL / plan.target_FL.sum().clamp_min(1);
  }
  plan.token_weight_FL = weight_FL.to(at::kFloat);
  return plan;
}

}  // namespace drift
