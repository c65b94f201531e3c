#pragma once

#include <ATen/core/Tensor.h>

namespace drift::nn {

/// Attention of Q queries to S keys. q [B, heads, Q, D]; k, v [B, kv_heads, S, D] with heads a multiple of kv_heads
/// (query head h reads key head h / (heads / kv_heads)). `mask`: bool, false = not attended to, [B, S] for all queries
/// of a row or [B, Q, S]; undefined: all. Scores are scaled by 1 / sqrt(D). @return [B * Q, heads * D]. Differentiable.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask);

}  // namespace drift::nn
