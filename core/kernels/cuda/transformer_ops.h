#pragma once

#include <core/kernels/cuda/calls.h>

#include <ATen/core/Tensor.h>

namespace drift::kernels::cuda {

// The functions of core/kernels/transformer_ops.h by kernels: contiguous float32 or bfloat16, differentiable as there.

/// At most kWidestNorm wide.
at::Tensor rms_norm(const KernelTable& kernels, const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon,
                    bool weight_first);

at::Tensor rotate_heads(const KernelTable& kernels, const at::Tensor& x, const at::Tensor& cosine_SD2,
                        const at::Tensor& sine_SD2, std::int64_t heads, bool heads_last);

at::Tensor swiglu(const KernelTable& kernels, const at::Tensor& gate, const at::Tensor& up);

}  // namespace drift::kernels::cuda
