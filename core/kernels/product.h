#pragma once

// The matrix products of a transformer, computed as suits the processor.

#include <ATen/core/Tensor.h>

namespace drift::kernels {

/// How the CPU multiplies bfloat16 matrices.
enum class Bfloat16Products {
  kNative,   ///< by LibTorch
  kWidened,  ///< in float32, to which the weight is widened tile by tile, but for very few rows where the processor has
             ///< instructions for them; sums are rounded once
};

/// Native where the processor has AMX. Elsewhere the widened products are faster: by 1.7 times with AVX-512 BF16, by
/// ten times without any bfloat16 instructions (docs/benchmarks.md).
Bfloat16Products bfloat16_products();

/// Replaces what bfloat16_products() says, in all threads: for tests and comparisons. One at a time.
class ScopedBfloat16Products {
 public:
  explicit ScopedBfloat16Products(Bfloat16Products products);
  ~ScopedBfloat16Products();
  ScopedBfloat16Products(const ScopedBfloat16Products&) = delete;
  ScopedBfloat16Products& operator=(const ScopedBfloat16Products&) = delete;

 private:
  Bfloat16Products before_;
};

/// x W^T, plus `added` ([M, N] or [N]) if it is defined: [M, N]. Differentiable; what does not require a gradient gets
/// none computed.
at::Tensor product(const at::Tensor& x_MK, const at::Tensor& weight_NK, const at::Tensor& added = {});

// Into existing memory, without a graph. Matrices may be slices of rows or columns of larger ones.

/// out = x W^T.
void product_out(const at::Tensor& out_MN, const at::Tensor& x_MK, const at::Tensor& weight_NK);

/// The gradient of x: out = G W.
void input_gradient_out(const at::Tensor& out_MK, const at::Tensor& gradient_MN, const at::Tensor& weight_NK);

/// The gradient of W: out = G^T x, or added to out. `out` is of x's type, or float32.
void weight_gradient_out(const at::Tensor& out_NK, const at::Tensor& gradient_MN, const at::Tensor& x_MK, bool add);

}  // namespace drift::kernels
