#pragma once

#include <ATen/core/Tensor.h>

namespace drift::kernels {

/// silu(gate) * up, element by element. Differentiable in both. One pass on the CPU in float32, without keeping
/// silu(gate).
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

/// The same in plain tensor operations.
at::Tensor swiglu_reference(const at::Tensor& gate, const at::Tensor& up);

}  // namespace drift::kernels
