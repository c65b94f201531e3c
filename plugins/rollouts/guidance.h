#pragma once

#include <drift/policy.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift::rollouts {

/// Classifier-free guidance (docs/spec/models_rollout.md 3.1): logits that move away from those of the same sequence
/// with a masked prompt, u + (scale + 1)(c - u). One forward of twice the rows.
///
/// @param forward        entire sequences
/// @param prompt_length  positions that are masked for u
/// @return [N, V], float32
at::Tensor guided_logits(const Policy& policy, const ForwardInput& forward, std::int64_t prompt_length, double scale);

}  // namespace drift::rollouts
