#pragma once

#include <core/kernels/nf4.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace drift::nn {

/// x W^T, plus `added` (a bias [O] or a residual [M, O]; may be undefined), for a frozen W [O, I] in 4 bits. Forward
/// and backward each widen W into a workspace of their thread, which the next product overwrites: of all wide weights,
/// one matrix for each thread is in memory. The numbers are those of the same product with the wide W. x [M, I].
at::Tensor packed_product(const at::Tensor& x_MI, const std::shared_ptr<const kernels::Nf4>& packed,
                          const at::Tensor& added);

/// The values, [count / columns, columns], in that workspace.
at::Tensor widened(const kernels::Nf4& packed, std::int64_t columns, const at::TensorOptions& options);

}  // namespace drift::nn
