#pragma once

#include "quirks.h"
#include "settings.h"

#include <drift/rollout.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace drift::block {

/// Positions [begin, begin + width) of the sequence, prompt included, that a forward computes; it attends to those
/// before `attended`.
struct Window {
  std::int64_t begin = 0, width = 0, attended = 0;
};

/// What the later forwards of a block compute with a cache.
Window block_window(const BlockSettings& settings, const Quirks& quirks, PredictionRow prediction_row,
                    std::int64_t prompt_length, std::int64_t block_start);

/// Draws tokens, with the confidence that `settings` ask for.
class Prediction {
 public:
  /// All of them must outlive it.
  Prediction(const BlockSettings& settings, const Quirks& quirks, const RolloutInput& input);

  /// As Policy::sample().
  SampledTokens sample(const ForwardInput& forward, const ForwardCache& cache, const at::Tensor& row_M,
                       const at::Tensor& uniform_M) const;

 private:
  at::Tensor confidence_without_ids(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                                    const SampledTokens& sampled) const;

  const BlockSettings& settings_;
  const Policy& policy_;
  const std::int64_t prompt_length_;
  SamplingOptions options_;
};

/// @throws Error, that the model has no cache.
[[noreturn]] void refuse_cache(const ModelTraits& traits);

}  // namespace drift::block
