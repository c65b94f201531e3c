#pragma once

#include <ATen/core/Tensor.h>

namespace drift::kernels {

/// silu(gate) * up, element by element, of equal shapes; silu in float32, rounded to the type before the product.
/// Differentiable in both; gradients are rounded once. One pass on the CPU in float32 and bfloat16, without keeping
/// silu(gate).
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// The same in plain tensor operations.
at::Tensor swiglu_reference(const at::Tensor& gate, const at::Tensor& up);

}  // namespace drift::kernels
