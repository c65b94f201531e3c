#pragma once

#include <core/nn/projection.h>

#include <ATen/core/Tensor.h>

namespace drift::nn {

/// project() with its adapter, in the order that a GPU prefers: the thin products come first, and the large one adds to
/// what they wrote. So no sum is copied, and x gets one gradient. `added_MO` as there; the base is frozen.
at::Tensor adapted_product(const at::Tensor& x_MI, const Projection& projection, const AdapterUse& use,
                           const at::Tensor& added_MO);

}  // namespace drift::nn
