#pragma once

#include <drift/random.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// uniform() of drift/sampling.h in tensor operations: what every device but the CPU uses. Takes CPU tensors (int64, of
/// one shape) as well, so that tests can compare the two without a GPU.
at::Tensor uniform_with_operators(const RandomStream& random, std::int64_t step, const at::Tensor& response_M,
                                  const at::Tensor& position_M, const at::Tensor& draw_M);

}  // namespace drift
