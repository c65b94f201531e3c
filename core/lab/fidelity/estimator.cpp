#include <core/lab/fidelity/estimator.h>

#include <core/base/trainable.h>
#include <core/boundary/checked.h>
#include <core/ranks/ranks.h>
#include <core/update/policy_update.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/any.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>
#include <vector>

namespace drift {

GradientEstimator::GradientEstimator(const Model& model, const MaskingStrategy& masking, const LossEstimator& loss,
                                     const Settings& settings)
    : model_(model), masking_(masking), loss_(loss), settings_(settings) {
  for (const auto& parameter : trainable_parameters(model)) parameters_ += parameter.tensor.numel();
}

// As PolicyUpdate makes it, for all views of the plan in one step.
GradientEstimate GradientEstimator::estimate(const Trajectories& responses, const at::Tensor& advantage_B,
                                             const RandomStream& random, std::int64_t step) const {
  GradientEstimate estimate;
  const MaskPlan plan = draw_plan(masking_, responses, model_.traits(), {random, step});
  estimate.contexts = plan.terms;
  // drift train skips the step, too.
  if (plan.response_F.size(0) == 0 || !advantage_B.any().item<bool>()) {
    estimate.gradient_P = at::zeros({parameters_}, at::kDouble);
    return estimate;
  }
  Ranks alone;
  UpdateBatch batch = update_batch(responses, advantage_B, plan, settings_.group_size);
  const LossNeeds needs = checked_needs(loss_);
  if (needs.reference) {
    batch.reference = score_views(alone, model_, responses, plan, all_views(plan), needs.entropy);
    estimate.rows += batch.reference.rows;
  }
  const auto gradient = policy_gradient(alone, model_, loss_, batch, settings_.memory_budget);
  estimate.rows += gradient.rows;
  std::vector<at::Tensor> flat;
  for (const auto& one : gradient.gradients) flat.push_back(one.reshape({-1}).to(at::kCPU, at::kDouble));
  estimate.gradient_P = -at::cat(flat);
  return estimate;
}

std::vector<GradientEstimate> GradientEstimator::means(const Trajectories& responses, const at::Tensor& advantage_B,
                                                       const RandomStream& random, std::int64_t step,
                                                       const std::vector<std::int64_t>& views) const {
  std::vector<GradientEstimate> means;
  GradientEstimate sum;
  std::int64_t done = 0;
  for (const std::int64_t count : views) {
    for (; done < count; ++done) {
      const auto one = estimate(responses, advantage_B, random.child(std::to_string(done)), step);
      sum.gradient_P = sum.gradient_P.defined() ? sum.gradient_P + one.gradient_P : one.gradient_P;
      sum.rows += one.rows;
      sum.contexts = std::max(sum.contexts, one.contexts);
    }
    means.push_back({sum.gradient_P / static_cast<double>(count), sum.rows, sum.contexts});
  }
  return means;
}

}  // namespace drift
