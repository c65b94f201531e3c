#pragma once

#include <ATen/core/Tensor.h>

namespace drift::kernels {

/// Rotary position embedding in the half-split layout, and the change to heads-first order, in one pass:
/// x [B * S, heads * D] -> [B, heads, S, D]; component j of a head turns with component j + D/2.
/// `cosine_SD2`, `sine_SD2` [S, D/2], S >= 1. Their type decides the arithmetic. float32: products and sums in float32,
/// the result rounded once to x's type. x's own type: each product rounded, then the sum. Differentiable in x. One pass
/// on the CPU in float32 and bfloat16.
at::Tensor rotate_heads(const at::Tensor& x, const at::Tensor& cosine_SD2, const at::Tensor& sine_SD2,
                        std::int64_t heads);

/// The same in plain tensor operations.
at::Tensor rotate_heads_reference(const at::Tensor& x, const at::Tensor& cosine_SD2, const at::Tensor& sine_SD2,
                                  std::int64_t heads);

}  // namespace drift::kernels
