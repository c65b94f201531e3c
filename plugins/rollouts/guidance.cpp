#include "guidance.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

namespace drift::rollouts {
namespace {

/// Classifier-free guidance (docs/spec/models_rollout.md 3.1): logits that move away from those of the same sequence
/// with a masked prompt, u + (scale + 1)(c - u). One forward of twice the rows.
///
/// @param forward        entire sequences
/// @param prompt_length  positions that are masked for u
/// @return [N, V], float32
at::Tensor guided_logits(const Policy& policy, const ForwardInput& forward, std::int64_t prompt_length, double scale) {
  auto without_prompt = forward.tokens_BS.clone();
  without_prompt.narrow(1, 0, prompt_length).fill_(policy.traits().mask_id);
  ForwardInput both = forward;
  both.tokens_BS = at::cat({forward.tokens_BS, without_prompt});
  if (forward.key_mask_BS.defined()) both.key_mask_BS = at::cat({forward.key_mask_BS, forward.key_mask_BS});
  if (forward.padding_B.defined()) both.padding_B = at::cat({forward.padding_B, forward.padding_B});
  both.rows_N = at::cat({forward.rows_N, forward.rows_N + forward.tokens_BS.numel()});
  const auto logits = policy.logits(both, {}).to(at::kFloat);
  const std::int64_t count = forward.rows_N.size(0);
  const auto conditional = logits.narrow(0, 0, count), unconditional = logits.narrow(0, count, count);
  return unconditional + (scale + 1) * (conditional - unconditional);
}

}  // namespace

at::Tensor draw_logits(const DecodingSettings& settings, const RolloutInput& input, const DrawRequest& request,
                       const ForwardCache& cache) {
  if (settings.guidance == 0) return input.policy->logits(request.forward, cache);
  return guided_logits(*input.policy, request.forward, input.prompts.tokens_BP.size(1), settings.guidance);
}

SampledTokens draw_tokens(const DecodingSettings& settings, const RolloutInput& input, const DrawRequest& request,
                          const ForwardCache& cache, const SamplingOptions& options) {
  if (settings.guidance == 0)
    return input.policy->sample(request.forward, cache, request.row_M, request.uniform_M, options);
  return sample_tokens(draw_logits(settings, input, request, cache), request.row_M, request.uniform_M, options);
}

}  // namespace drift::rollouts
