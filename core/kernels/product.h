#pragma once

// The matrix products of a transformer, computed as suits the processor.

#include <ATen/core/Tensor.h>

#include <string>

namespace drift::kernels {

/// How the CPU multiplies bfloat16 matrices.
enum class Bfloat16Products {
  kNative,   ///< by LibTorch
  kWidened,  ///< in float32, to which the weight is widened tile by tile, but for very few rows where the processor has
             ///< instructions for them; sums are rounded once
};

/// The faster of both on a processor of this kind, by what was measured (docs/benchmarks.md, "Matrix products").
Bfloat16Products measured_bfloat16_products();

/// What decides it: "AuthenticAMD with AVX-512 BF16".
std::string processor_kind();
bool has_amx();

/// In use, in all threads: the measured ones, until a run says otherwise.
Bfloat16Products bfloat16_products();
void use_bfloat16_products(Bfloat16Products products);

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
