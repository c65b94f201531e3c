#pragma once

#include <drift/policy.h>

#include <cstdint>

namespace drift::rollouts {

/// Classifier-free guidance (LLaDA's cfg_scale; docs/spec/models_rollout.md 3.1):
///
///     logits = unconditional + (scale + 1) (conditional - unconditional)
///
/// where the unconditional logits are those of the same response after a prompt of mask tokens. Padding is masked as in
/// the conditional forward.
struct Guidance {
  double scale = 0;  ///< 0: none, and no second forward
};

/// The tokens of `input` with mask tokens in place of the first `prompt_length` of each row.
at::Tensor without_prompt(const at::Tensor& tokens_BS, std::int64_t prompt_length, std::int64_t mask_id);

/// [N, V], float32.
at::Tensor guided_logits(const at::Tensor& conditional_NV, const at::Tensor& unconditional_NV, Guidance guidance);

/// policy.sample() of complete sequences under guidance: two forwards unless the scale is 0. Log-probabilities and
/// confidences are those of the guided logits.
SampledTokens sample(const Policy& policy, const ForwardInput& input, std::int64_t prompt_length, Guidance guidance,
                     const at::Tensor& row_M, const at::Tensor& uniform_M, const SamplingOptions& options);

}  // namespace drift::rollouts
