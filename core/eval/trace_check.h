#pragma once

#include <drift/model.h>
#include <drift/rollout.h>
#include <drift/trajectories.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace drift {

/// What another program wrote after B prompts, and in which order.
struct ReferenceTrace {
  Prompts prompts;            ///< each response is a group of its own
  at::Tensor tokens_BL;       ///< int64
  at::Tensor step_BL;         ///< int64, the forward that committed the position; -1: never predicted
  at::Tensor probability_BL;  ///< float64, of the committed token
};

/// Reads a safetensors file with `prompt_ids` [B, P], `tokens` [B, P + L], `commit_step` and `commit_prob` [B, L]. What
/// is padding says `attention_mask` [B, P], which was passed to the program, or `prompt_mask`, which was not.
/// @param takes_mask  the program's caller may pass a mask: what `prompt_mask` calls padding, it took for tokens
/// @throws Error naming the file, the tensor and what was expected.
ReferenceTrace read_reference_trace(const std::filesystem::path& file, const ModelTraits& traits, bool takes_mask);

/// @throws Error if a decoder with responses of `length` tokens cannot be compared with the trace
void require_comparable(const ReferenceTrace& reference, std::int64_t length, const ModelTraits& traits);

/// How far one response is from the trace.
struct TraceRow {
  std::int64_t first_difference = -1;  ///< of the positions that differ in token or step; -1: none
  std::int64_t token = 0, reference_token = 0, step = 0, reference_step = 0;  ///< there
  double largest_difference = 0;  ///< of the probability of a token that both have committed
  std::int64_t forwards = 0;
  bool is_equal = false;  ///< also in probabilities, within the tolerance, and in the number of forwards
};

/// @param forwards   those that the program made; empty: not known
/// @param tolerance  largest difference of a probability that counts as equal
std::vector<TraceRow> compare_trace(const Trajectories& made, const ReferenceTrace& reference,
                                    std::optional<std::int64_t> forwards, double tolerance);

}  // namespace drift
