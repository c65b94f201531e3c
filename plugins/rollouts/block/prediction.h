#pragma once

#include "rows.h"
#include "settings.h"

#include <drift/rollout.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace drift::block {

using rollouts::Window;

/// The whole sequence.
Window whole_window(const BlockSettings& settings, std::int64_t prompt_length);

/// The text up to the block's end.
Window append_window(const BlockSettings& settings, std::int64_t prompt_length, std::int64_t block_start);

/// What the later forwards of a block compute with a cache.
Window block_window(const BlockSettings& settings, PredictionRow prediction_row, std::int64_t prompt_length,
                    std::int64_t block_start);

/// Draws tokens, with the confidence that `settings` ask for.
class Prediction {
 public:
  /// Both must outlive it.
  Prediction(const BlockSettings& settings, const RolloutInput& input);

  /// @throws Error if the model has no cache
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows) const;

  /// @param request  for this window
  /// @param cache    null: none
  SampledTokens sample(rollouts::DrawRequest request, const Window& window, KeyValueCache* cache) const;
  /// With a window of the caller's.
  SampledTokens draw(const rollouts::DrawRequest& request, const ForwardCache& cache) const;

 private:
  at::Tensor confidence_without_ids(const at::Tensor& logits_NV, const rollouts::DrawRequest& request,
                                    const SampledTokens& sampled) const;

  const BlockSettings& settings_;
  const RolloutInput& input_;
  const std::int64_t sequence_;
  SamplingOptions options_;
};

}  // namespace drift::block
