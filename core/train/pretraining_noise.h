#pragma once

#include <drift/mask_plan.h>
#include <drift/random.h>

#include <core/config/training_settings.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// What is learned of B texts, in L positions each.
struct LearnedTexts {
  at::Tensor label_BL;     ///< bool, may be masked, and is learned where it is
  at::Tensor place_BL;     ///< int64, the position's place in its text; the first token of its prompt has 0
  at::Tensor attended_BL;  ///< bool, MaskPlan::attended_FL
};

/// The random numbers of a batch, uniform in [0, 1).
struct NoiseNumbers {
  at::Tensor level_BL;   ///< float64, one for all positions that share a mask ratio
  at::Tensor chance_BL;  ///< float64, one for each position, which is masked if it is below its mask ratio
};

/// Masks and weights of supervised block diffusion. A mask ratio is minimum + (maximum - minimum) level.
///
/// | noise         | share a ratio | loss: sum over masked tokens of the cross-entropy …                     |
/// |---------------|---------------|-------------------------------------------------------------------------|
/// | text          | a text        | / ratio / number of all tokens that may be masked                       |
/// | mean          | a text        | / number of masked tokens                                               |
/// | complementary | a block       | / number of masked tokens; each text twice, the second with other masks |
/// | semi_ar       | nothing       | / number of positions; blocks count from the response's beginning       |
struct NoiseRule {
  PretrainNoise noise = PretrainNoise::kText;
  double minimum = 0.001, maximum = 1;
  std::int64_t block = 0;    ///< tokens of a block, counted from a text's first token; 0: all are one block
  bool scores_first = true;  ///< whether a row predicts a text's first token

  /// A function of the stream, the step and the text's number. `text` draws up to ten times, until a token is masked.
  NoiseNumbers draw(const LearnedTexts& texts, const RandomStream& random, std::int64_t step) const;

  /// View b and, if complementary, view B + b are of text b. `token_weight_FL` holds all that the loss divides by.
  MaskPlan plan(const LearnedTexts& texts, const NoiseNumbers& numbers) const;

 private:
  double ratio(double level) const { return minimum + (maximum - minimum) * level; }
  /// The place of the first of the positions that share a mask ratio with this one.
  std::int64_t first_of_level(std::int64_t place) const;
};

}  // namespace drift
