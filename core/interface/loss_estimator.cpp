#include <drift/loss_estimator.h>

#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

namespace drift {

at::Tensor LossInput::advantage_F1() const { return advantage_B.index_select(0, plan.response_F).unsqueeze(1); }

at::Tensor LossInput::token_advantage() const {
  return advantage_BL.defined() ? advantage_BL.index_select(0, plan.response_F) : advantage_F1();
}

Loss LossInput::token_mean(const at::Tensor& values_FL) const {
  const auto targets = at::where(plan.target_FL, values_FL, at::zeros_like(values_FL));
  return {targets.sum() / static_cast<double>(std::max<std::int64_t>(totals.targets, 1)), {}, {}};
}

void Loss::add_mean(const std::string& name, const at::Tensor& values, const at::Tensor& where) {
  add_ratio(name, at::where(where, values.detach(), at::zeros_like(values)).sum(), where.sum());
}

void Loss::add_ratio(const std::string& name, const at::Tensor& sum, const at::Tensor& count) {
  metrics.push_back({name, sum.detach(), count.detach()});
}

}  // namespace drift
