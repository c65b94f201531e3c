#pragma once

#include <drift/cached_forward.h>
#include <drift/export.h>
#include <drift/model.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace drift {

/// The model with its LM head, as a rollout sees it: predictions at positions of a sequence. The host knows which
/// hidden row predicts a position, and where the head is.
///
///     drift::ForwardInput forward;
///     forward.tokens_BS = tokens_BS;     // prompt and response, masked where nothing is committed yet
///     forward.rows_N = masked_N;         // b * S + s of each position to predict
///     const auto sampled = input.policy->sample(forward, drift::ForwardCache{}, draw_M, uniform_M, options);
/// The caller disables gradients. Safe to use from several threads concurrently. Only the host implements it: later
/// versions add functions at the end.
class DRIFT_API Policy {
 public:
  virtual const ModelTraits& traits() const = 0;

  /// The device for inputs and results.
  virtual at::Device device() const = 0;

  /// Logits of the tokens at N positions: [N, V].
  ///
  /// @param input  `rows_N` are the positions to predict; like all tensors here, on the model's device.
  /// @param cache  empty for a complete sequence; else a cache that this policy made, and the window to compute.
  /// @throws Error if a position cannot be predicted (position 0 where the head predicts the next token).
  virtual at::Tensor logits(const ForwardInput& input, const ForwardCache& cache) const = 0;

  /// sample_tokens() of these logits: results on the model's device.
  virtual SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                               const at::Tensor& uniform_M, const SamplingOptions& options) const = 0;

  /// An empty cache for `rows` sequences of `positions` tokens, or null if the model has no caches.
  virtual std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const = 0;

 protected:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  ~Policy() = default;
};

}  // namespace drift
