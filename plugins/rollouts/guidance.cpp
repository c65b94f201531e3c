#include "guidance.h"

#include <ATen/TensorOperators.h>

namespace drift::rollouts {

at::Tensor without_prompt(const at::Tensor& tokens_BS, std::int64_t prompt_length, std::int64_t mask_id) {
  auto tokens = tokens_BS.clone();
  tokens.narrow(1, 0, prompt_length).fill_(mask_id);
  return tokens;
}

at::Tensor guided_logits(const at::Tensor& conditional_NV, const at::Tensor& unconditional_NV, Guidance guidance) {
  const auto unconditional = unconditional_NV.to(at::kFloat);
  return unconditional + (guidance.scale + 1) * (conditional_NV.to(at::kFloat) - unconditional);
}

SampledTokens sample(const Policy& policy, const ForwardInput& input, std::int64_t prompt_length, Guidance guidance,
                     const at::Tensor& row_M, const at::Tensor& uniform_M, const SamplingOptions& options) {
  if (guidance.scale == 0) return policy.sample(input, {}, row_M, uniform_M, options);
  ForwardInput unconditional = input;
  unconditional.tokens_BS = without_prompt(input.tokens_BS, prompt_length, policy.traits().mask_id);
  const auto logits_NV = guided_logits(policy.logits(input, {}), policy.logits(unconditional, {}), guidance);
  return sample_tokens(logits_NV, row_M, uniform_M, options);
}

}  // namespace drift::rollouts
