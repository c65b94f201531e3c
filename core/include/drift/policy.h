#pragma once

#include <drift/cached_forward.h>
#include <drift/export.h>
#include <drift/model.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace drift {

/// The model with its LM head, as a rollout sees it: what it predicts at positions of a sequence. Which hidden row
/// predicts a position, and where the head lies, is the host's concern.
///
///     drift::ForwardInput forward;
///     forward.tokens_BS = tokens_BS;     // prompt and response, masked where nothing is committed yet
///     forward.rows_N = masked_N;         // b * S + s of each position that a token is wanted for
///     const auto sampled = input.policy->sample(forward, drift::ForwardCache{}, draw_M, uniform_M, options);
///
/// Gradients are disabled by the caller. Safe to use from several threads at once. Implemented by the host alone: a
/// later version adds functions at the end.
class DRIFT_API Policy {
 public:
  virtual const ModelTraits& traits() const = 0;

  /// Where tensors for the model are made, and where results lie.
  virtual at::Device device() const = 0;

  /// Logits of the tokens at N positions: [N, V].
  ///
  /// @param input  `rows_N` holds the positions whose tokens are predicted, on the model's device as all tensors here.
  /// @param cache  empty for a whole sequence; else a cache that this policy made, and the window that is computed.
  /// @throws Error if a position cannot be predicted (position 0 where the head predicts the next token).
  virtual at::Tensor logits(const ForwardInput& input, const ForwardCache& cache) const = 0;

  /// sample_tokens() of these logits: results on the model's device.
  virtual SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                               const at::Tensor& uniform_M, const SamplingOptions& options) const = 0;

  /// An empty cache for `rows` sequences of `positions` tokens, or null where the model keeps none.
  virtual std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const = 0;

 protected:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  ~Policy() = default;
};

}  // namespace drift
