#pragma once

#include <core/kernels/cuda/calls.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift::nn {

/// Where rows of a batch are padded to its width.
enum class PaddedOn { kLeft, kRight };

/// One key for each token of rows with these keys (int64 [B]): [B * S]. A token counts from the other end of its row,
/// so that padding changes nothing.
at::Tensor token_keys(const at::Tensor& row_key_B, std::int64_t sequence, PaddedOn side = PaddedOn::kLeft);

/// x [M, I] with a share of its elements 0 and the others divided by 1 - share, so that the expectation stays. Which
/// ones is a function of the token's key, the stream and the element's place in its row; never of the batch, the device
/// or the thread. Not differentiable: of a gradient, the same elements are left out by the same call.
at::Tensor dropped(const at::Tensor& x_MI, const at::Tensor& key_M, std::uint64_t stream, double share);

/// The same by a kernel, bit by bit: contiguous float32 or bfloat16 of the kernels' device.
at::Tensor dropped_on_device(const kernels::cuda::KernelTable& kernels, const at::Tensor& x_MI, const at::Tensor& key_M,
                             std::uint64_t stream, double share);

/// The same in tensor operations, for every device: what the loops of the CPU are tested against.
at::Tensor dropped_reference(const at::Tensor& x_MI, const at::Tensor& key_M, std::uint64_t stream, double share);

}  // namespace drift::nn
