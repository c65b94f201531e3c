#pragma once

// Products of bfloat16 matrices in float32, for product.cpp. Each sum is rounded once. The values do not depend on the
// number of threads.

#include <ATen/core/Tensor.h>

namespace drift::kernels {

/// x W^T, plus `added` ([M, N], [N] or undefined). All bfloat16.
at::Tensor widened_product(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& added);
void widened_product_out(const at::Tensor& out_MN, const at::Tensor& x_MK, const at::Tensor& weight_NK,
                         const at::Tensor& added = {});

/// out = G W. All bfloat16.
void widened_input_gradient(const at::Tensor& out_MK, const at::Tensor& gradient_MN, const at::Tensor& weight_NK);

/// out = G^T x, or added to out, which is bfloat16 or float32.
void widened_weight_gradient(const at::Tensor& out_NK, const at::Tensor& gradient_MN, const at::Tensor& x_MK, bool add);

}  // namespace drift::kernels
