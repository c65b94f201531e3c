#pragma once

#include <drift/random.h>

#include <ATen/core/Tensor.h>

namespace drift::nn {

/// Fill with normal draws cut at `cut` standard deviations (drawn again outside; 0: not cut). Element i of a tensor is
/// a function of the stream and i, whatever the tensor's type and device.
void fill_normal(const at::Tensor& tensor, double standard_deviation, double cut, const RandomStream& random);

}  // namespace drift::nn
