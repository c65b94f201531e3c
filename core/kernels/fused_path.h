#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/BFloat16.h>

namespace drift::kernels {

/// Whether the loops of simd.h take tensors like this one.
inline bool has_fused_path(const at::Tensor& x) {
  return x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

/// Call `body(T())` with the C++ type of a tensor that has_fused_path().
template <class Body>
void with_element_type(at::ScalarType type, const Body& body) {
  type == at::kFloat ? body(float()) : body(c10::BFloat16());
}

}  // namespace drift::kernels
