#include <core/train/truncation.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/sum.h>

namespace drift {

at::Tensor fills_its_length(const at::Tensor& valid_BL, std::int64_t margin) {
  return valid_BL.sum(1) >= valid_BL.size(1) - margin;
}

}  // namespace drift
