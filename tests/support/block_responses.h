#pragma once

// Responses of a model with block attention, by hand.

#include "tests/support/tensors.h"

#include <core/update/block_rows.h>
#include <drift/random.h>
#include <drift/trajectories.h>

#include <cstdint>

namespace drift::test {

constexpr std::int64_t kBlock = 4, kBlockPrompt = 7, kBlockLength = 11, kBlockResponses = 4;

/// Two groups of two responses; the prompts of the second have 5 tokens of 7. Written block by block, one or two tokens
/// a step; the last tokens of odd responses are padding.
inline Trajectories block_trajectories() {
  const RandomStream random(5, "responses");
  const auto uniform = [&](std::int64_t b, std::int64_t i, std::int64_t draw, std::int64_t count) {
    return random.below(count, {0, b, i, draw});
  };
  Trajectories made;
  made.prompts.tokens_BP = at::zeros({kBlockResponses, kBlockPrompt}, at::kLong);
  made.prompts.mask_BP = at::ones({kBlockResponses, kBlockPrompt}, at::kBool);
  made.prompts.group_B = at::arange(kBlockResponses, at::kLong).div(2, "floor");
  made.tokens_BL = at::zeros({kBlockResponses, kBlockLength}, at::kLong);
  made.valid_BL = at::ones({kBlockResponses, kBlockLength}, at::kBool);
  made.step_BL = at::zeros({kBlockResponses, kBlockLength}, at::kInt);
  made.commit_logprob_BL = at::zeros({kBlockResponses, kBlockLength}, at::kFloat);
  made.forwards_B = at::full({kBlockResponses}, 30, at::kLong);
  for (std::int64_t b = 0; b < kBlockResponses; ++b) {
    const std::int64_t padding = b < 2 ? 0 : 2;
    for (std::int64_t p = 0; p < kBlockPrompt; ++p) {
      made.prompts.tokens_BP[b][p] = p < padding ? 143 : uniform(b / 2, p, 1, 140);
      made.prompts.mask_BP[b][p] = p >= padding;
    }
    const BlockText text(kBlock, made, BlockOrigin::kText, b);
    for (std::int64_t i = 0; i < kBlockLength; ++i) {
      const std::int64_t block = text.block(text.prompt + i);
      made.step_BL[b][i] = static_cast<std::int32_t>(4 * block + uniform(b, i, 2, 3));
      made.commit_logprob_BL[b][i] = -0.1 - 0.01 * static_cast<double>(uniform(b, i, 3, 300));
      const bool pads = b % 2 == 1 && i >= kBlockLength - 2;
      made.tokens_BL[b][i] = pads ? 143 : uniform(b, i, 4, 140);
      made.valid_BL[b][i] = !pads;
    }
  }
  return made;
}

}  // namespace drift::test
