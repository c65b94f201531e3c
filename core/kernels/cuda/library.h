#pragma once

#include <core/kernels/cuda/calls.h>

#include <ATen/core/Tensor.h>

namespace drift::kernels::cuda {

/// The kernels for this tensor: on a GPU, float32 or bfloat16, in a build that has them. Null otherwise. They are in
/// libdrift_cuda.so, which is loaded with the first such tensor.
const KernelTable* kernels_for(const at::Tensor& x);

/// The library's kernels, whether or not there is a GPU; null in a build without them. Its loading needs no driver.
const KernelTable* built_kernels();

/// The stream on which LibTorch queues work for this tensor's device; null for the CPU.
Stream stream_of(const at::Tensor& x);

Element element_of(const at::Tensor& x);

/// @throws c10::Error with what the CUDA runtime says
void check(const KernelTable& kernels, Status status);

}  // namespace drift::kernels::cuda
