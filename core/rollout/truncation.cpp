#include <core/rollout/truncation.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/sum.h>

namespace drift {

at::Tensor fills_its_length(const at::Tensor& valid_BL, std::int64_t margin) {
  return valid_BL.sum(1) >= valid_BL.size(1) - margin;
}

at::Tensor never_ends(const at::Tensor& tokens_BL, const ModelTraits& traits) {
  return ends_response(tokens_BL, traits).any(1).logical_not();
}

}  // namespace drift
