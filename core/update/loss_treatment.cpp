#include <core/update/loss_treatment.h>

#include <core/update/view_rows.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace drift {

LossTreatment::LossTreatment(const MaskPlan& plan)
    : gradient_FL(at::zeros(plan.target_FL.sizes(), at::kFloat)),
      steps_F(at::zeros_like(plan.response_F)),
      zero_FL(at::zeros(plan.target_FL.sizes(), at::kLong)),
      dropped_FL(at::zeros_like(plan.target_FL)),
      target_FL_(plan.target_FL) {}

void LossTreatment::add(const std::vector<std::int64_t>& views, const at::Tensor& gradient_NL, bool is_first) {
  const auto index = index_tensor(views);
  const auto gradient = gradient_NL.to(at::kCPU, at::kFloat);
  const auto is_zero = (gradient == 0).logical_and(target_FL_.index_select(0, index));
  gradient_FL.index_add_(0, index, gradient);
  steps_F.index_add_(0, index, at::ones_like(index));
  zero_FL.index_add_(0, index, is_zero.to(at::kLong));
  if (is_first) dropped_FL.index_copy_(0, index, is_zero);
}

}  // namespace drift
