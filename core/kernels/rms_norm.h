#pragma once

#include <ATen/core/Tensor.h>

namespace drift::kernels {

/// x / sqrt(mean(x^2) + epsilon) * weight over the last dimension. x [N, H], weight [H]; the mean and the quotient in
/// float32, rounded to x's type before the weight is applied. Differentiable in both; gradients are summed in float32
/// and rounded once. One pass on the CPU for float32 and bfloat16 of x and weight alike.
at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon);

/// The same in plain tensor operations: what rms_norm is tested against, and what runs for other types and devices.
at::Tensor rms_norm_reference(const at::Tensor& x_NH, const at::Tensor& weight_H, double epsilon);

}  // namespace drift::kernels
