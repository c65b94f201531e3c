#pragma once

#include <drift/export.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace drift {

/// How sure a prediction is: what rollouts order positions by (docs/spec/models_rollout.md 3.0).
enum class Confidence : std::uint32_t {
  kProbability = 0,      ///< probability of the chosen token
  kMargin = 1,           ///< largest minus second largest probability
  kNegativeEntropy = 2,  ///< sum p ln p, at most 0
};

struct SamplingOptions {
  double temperature = 0;  ///< 0: the most likely token, the lower id where two are equal
  Confidence confidence = Confidence::kProbability;
  std::vector<std::pair<std::int64_t, std::int64_t>> forbidden_ids;  ///< half-open ranges that are never chosen
};

/// M predictions, on the CPU.
struct SampledTokens {
  at::Tensor token_M;       ///< int64
  at::Tensor logprob_M;     ///< float32, under softmax of the raw logits: temperature 1, nothing forbidden
  at::Tensor confidence_M;  ///< float32, from the same distribution
};

/// Draw one token for each m from the logits row `row_M[m]`: exactly from softmax(logits / temperature) over the
/// allowed ids, by inversion of uniform_M[m]. Softmax in float32 with float64 sums. No host synchronisation but the
/// copy of the result.
///
/// @param logits_NV  any floating type, any device.
/// @param row_M      int64 in [0, N), on the CPU: several draws may share a row.
/// @param uniform_M  float64 in [0, 1), on the CPU; not read at temperature 0.
DRIFT_API SampledTokens sample_tokens(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                                      const SamplingOptions& options);

}  // namespace drift
