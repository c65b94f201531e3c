#include "guidance.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

namespace drift::rollouts {

at::Tensor guided_logits(const Policy& policy, const ForwardInput& forward, std::int64_t prompt_length, double scale) {
  auto without_prompt = forward.tokens_BS.clone();
  without_prompt.narrow(1, 0, prompt_length).fill_(policy.traits().mask_id);
  ForwardInput both = forward;
  both.tokens_BS = at::cat({forward.tokens_BS, without_prompt});
  if (forward.key_mask_BS.defined()) both.key_mask_BS = at::cat({forward.key_mask_BS, forward.key_mask_BS});
  both.rows_N = at::cat({forward.rows_N, forward.rows_N + forward.tokens_BS.numel()});
  const auto logits = policy.logits(both, {}).to(at::kFloat);
  const std::int64_t count = forward.rows_N.size(0);
  const auto conditional = logits.narrow(0, 0, count), unconditional = logits.narrow(0, count, count);
  return unconditional + (scale + 1) * (conditional - unconditional);
}

}  // namespace drift::rollouts
