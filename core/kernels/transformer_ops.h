#pragma once

// What a transformer's layer does besides its matrix products and attention, each operation in one pass on the CPU, and
// on a GPU in a build with CUDA kernels (core/kernels/cuda).

#include <ATen/core/Tensor.h>

namespace drift::kernels {

/// Where a norm's quotient in float32 is rounded to the type of its input: they differ in bfloat16, by one rounding.
enum class NormWeight {
  kAfterRounding,   ///< the rounded quotient times the weight
  kBeforeRounding,  ///< quotient times weight in float32, rounded once
};

/// x / sqrt(mean(x^2) + epsilon) * weight over the last dimension. x [N, H], weight [H]; the mean and the quotient in
/// float32, rounded to x's type as `order` says. Differentiable in both; gradients are summed in float32
/// and rounded once. One pass on the CPU for float32 and bfloat16 of x and weight alike.
at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon,
                    NormWeight order = NormWeight::kAfterRounding);

/// The same in plain tensor operations: what rms_norm is tested against, and what runs for all else.
at::Tensor rms_norm_reference(const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon,
                              NormWeight order = NormWeight::kAfterRounding);

/// Rotary position embedding in the half-split layout, and the change to heads-first order, in one pass:
/// x [B * S, heads * D] -> [B, heads, S, D]; component j of a head turns with component j + D/2.
/// `cosine_SD2`, `sine_SD2` [S, D/2], S >= 1. Their type decides the arithmetic. float32: products and sums in float32,
/// the result rounded once to x's type. x's own type: each product rounded, then the sum. Differentiable in x. One pass
/// on the CPU in float32 and bfloat16. With `heads_last` a GPU's kernel writes [B, S, heads, D] in memory: from such
/// queries attention returns what the next product reads, without a copy.
at::Tensor rotate_heads(const at::Tensor& x, const at::Tensor& cosine_SD2, const at::Tensor& sine_SD2,
                        std::int64_t heads, bool heads_last = false);

/// The same in plain tensor operations.
at::Tensor rotate_heads_reference(const at::Tensor& x, const at::Tensor& cosine_SD2, const at::Tensor& sine_SD2,
                                  std::int64_t heads);

/// silu(gate) * up, element by element, of equal shapes; silu in float32, rounded to the type before the product.
/// Differentiable in both; gradients are rounded once. One pass on the CPU in float32 and bfloat16, without keeping
/// silu(gate).
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// The same in plain tensor operations.
at::Tensor swiglu_reference(const at::Tensor& gate, const at::Tensor& up);

/// Softmax over the last dimension, in place, without a graph. In float32, rounded once. On the CPU for float32 and
/// bfloat16 of contiguous rows three loops over a row in cache.
void softmax_(at::Tensor& x);

}  // namespace drift::kernels
