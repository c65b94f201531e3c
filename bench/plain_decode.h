#pragma once

#include "bench/plain_llada.h"

#include <string>
#include <vector>

namespace drift::bench {

/// A decoder of the originals and what it means here. Greedy.
struct DecodeCase {
  std::string name;
  std::string cache;     ///< none, prefix, dual
  double threshold = 0;  ///< 0: a fixed number of positions per forward
  std::int64_t steps = 0, block = 32;
  std::int64_t horizon = -1;
};

/// The loops of LLaDA, Fast-dLLM and RLDF's release in plain LibTorch (docs/spec/models_rollout.md 3.1, 3.2, 3.5): all
/// logits of a forward, softmax over them in float64, rows that wait for each other.
/// @return tokens [B, length]
at::Tensor plain_decode(const PlainLlada& model, const DecodeCase& decoder, const at::Tensor& prompt_BP,
                        std::int64_t length, std::int64_t mask_id);

}  // namespace drift::bench
