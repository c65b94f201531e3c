#include <core/update/batch_totals.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

namespace drift {

BatchTotals batch_totals(const MaskPlan& plan, std::int64_t responses, std::int64_t group_size,
                         std::int64_t optimizer_steps) {
  BatchTotals totals;
  totals.responses = responses;
  totals.group_size = group_size;
  totals.terms = plan.terms;
  totals.targets = plan.target_FL.sum().item<std::int64_t>();
  totals.optimizer_steps = optimizer_steps;
  totals.views = plan.response_F.size(0);
  return totals;
}

at::Tensor scored_positions(const MaskPlan& plan, std::int64_t responses) {
  const auto views_BL = at::zeros({responses, plan.target_FL.size(1)}, plan.target_FL.options().dtype(at::kLong))
                            .index_add(0, plan.response_F, plan.target_FL.to(at::kLong));
  return (views_BL > 0).sum(1);
}

}  // namespace drift
