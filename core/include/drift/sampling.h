#pragma once

// One draw from the first row of logits and two from the second, from the same random numbers on every device:
//
//     const auto row_M = at::arange(3, at::kLong).clamp_max(1);
//     const auto uniform_M = drift::uniform(input.random, input.step, response_M, position_M, draw_M);
//     drift::SamplingOptions options;
//     options.temperature = 1;
//     options.forbidden_ids = policy.traits().forbidden_output_ids;
//     const auto sampled = drift::sample_tokens(logits_NV, row_M, uniform_M, options);

#include <drift/export.h>
#include <drift/random.h>
#include <drift/reserved.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace drift {

/// The confidence of a prediction, by which rollouts order positions (docs/spec/models_rollout.md 3.0).
enum class Confidence : std::uint32_t {
  kProbability = 0,      ///< probability of the chosen token
  kMargin = 1,           ///< largest minus second largest probability
  kNegativeEntropy = 2,  ///< sum p ln p, at most 0
};

/// The distribution whose probabilities make a confidence.
enum class ConfidenceOf : std::uint32_t {
  kLogits = 0,  ///< softmax of the raw logits: temperature 1, nothing forbidden
  kDraw = 1,    ///< what the token is drawn from, after temperature (0 counts as 1), forbidden ids, top_k and top_p
};

struct SamplingOptions {
  double temperature = 0;  ///< 0: the most likely token, the lower id of equal ones
  Confidence confidence = Confidence::kProbability;
  std::vector<std::pair<std::int64_t, std::int64_t>> forbidden_ids;  ///< half-open ranges that are never chosen
  Reserved<at::Tensor, 2> reserved_tensors = {};
  /// Only the k most likely allowed tokens are drawn, and those as likely as the k-th. 0: all.
  std::int64_t top_k = 0;
  /// In [0, 1]. Only the most likely allowed tokens are drawn whose probabilities add up to more than top_p: the last
  /// one crosses it; equal ones in the order of ids. 0 or 1: all. With top_k: what both leave.
  double top_p = 0;
  ConfidenceOf confidence_of = ConfidenceOf::kLogits;
  /// Not 0: top_p is of the distribution that top_k leaves, as in decoders of block-diffusion models; 0: the other way
  /// round.
  std::int64_t top_k_first = 0;
  Reserved<std::int64_t, 2> reserved_numbers = {};
};

/// M predictions, on the device of the logits.
struct SampledTokens {
  at::Tensor token_M;       ///< int64
  at::Tensor logprob_M;     ///< float32, under softmax of the raw logits: temperature 1, nothing forbidden
  at::Tensor confidence_M;  ///< float32, of the distribution that confidence_of names
  Reserved<at::Tensor, 4> reserved_tensors = {};
};

/// Draw one token for each m from the logits row `row_M[m]`: exactly from softmax(logits / temperature) over the
/// allowed ids that top_p and top_k leave, by inversion of uniform_M[m]. Softmax in float32 with float64 sums. Does not
/// synchronise with the device.
///
/// @param logits_NV  any floating type, any device.
/// @param row_M      int64 in [0, N): several draws may share a row. Moved to the device of the logits.
/// @param uniform_M  float64 in [0, 1), see uniform(); not read at temperature 0. Moved to the device of the logits.
DRIFT_API SampledTokens sample_tokens(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                                      const SamplingOptions& options);

/// random.uniform({step, response_M[m], position_M[m], draw_M[m]}) for each m: float64 on the device of the three
/// tensors, the same bits on every device. The tensors are integers of equal or broadcastable shapes.
DRIFT_API at::Tensor uniform(const RandomStream& random, std::int64_t step, const at::Tensor& response_M,
                             const at::Tensor& position_M, const at::Tensor& draw_M);

}  // namespace drift
