#include <core/update/step_loss.h>

#include <core/base/phase_timer.h>
#include <core/boundary/checked.h>
#include <core/boundary/plugin_call.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace drift {

StepLoss::StepLoss(const Model& model, const LossEstimator& loss, const UpdateBatch& batch, PolicyGradient& result)
    : model_(model), loss_(loss), batch_(batch), needs_(checked_needs(loss)), result_(result) {
  result_.current_FL =
      PolicyScores(batch.plan.response_F.size(0), batch.plan.target_FL.size(1), model.lm_head_VH(), false).logprob_FL;
  result_.gradient_FL = at::zeros_like(result_.current_FL);
}

ScoreGradient StepLoss::evaluate(const Views& views, const PolicyScores& current) {
  const PhaseTimer timer;
  const auto index = index_tensor(views, current.logprob_FL.device());
  result_.current_FL.index_copy_(0, index, current.logprob_FL);
  const LossInput in = input(views, current);
  Loss loss = checked_loss(loss_, in);
  if (batch_.fraction != 1) loss.value = loss.value / batch_.fraction;
  const double value = loss.value.item<double>();
  require_finite(value);
  result_.loss += value;
  for (const LossMetric& metric : loss.metrics) {
    result_.metrics[metric.name].sum += metric.sum.item<double>();
    result_.metrics[metric.name].count += metric.count.item<double>();
  }
  const auto gradients = gradients_of(loss.value, in);
  result_.gradient_FL.index_copy_(0, index, gradients[0]);
  result_.seconds.loss += timer.seconds();
  return {gradients[0], needs_.entropy ? gradients[1] : at::Tensor()};
}

LossInput StepLoss::input(const Views& views, const PolicyScores& current) const {
  const auto options = current.logprob_FL.options();
  const auto device = options.device();
  const auto index = index_tensor(views);
  LossInput input;
  input.plan = select_views(batch_.plan, views, device);
  input.log_probs.current_FL = current.logprob_FL.clone().set_requires_grad(true);
  const auto& old = batch_.old_policy.logprob_FL;
  if (needs_.old) input.log_probs.old_FL = old.defined() ? selected(old, index, device) : current.logprob_FL;
  const bool old_is_reference = batch_.reference_is_old_policy;
  input.log_probs.reference_FL = !old_is_reference ? selected(batch_.reference.logprob_FL, index, device)
                                 : old.defined()   ? selected(old, index, device)
                                                   : current.logprob_FL;
  input.log_probs.reference_entropy_FL =
      selected(old_is_reference ? batch_.old_policy.entropy_FL : batch_.reference.entropy_FL, index, device);
  if (needs_.entropy) input.log_probs.entropy_FL = current.entropy_FL.clone().set_requires_grad(true);
  input.advantage_B = batch_.advantage_B.to(options);
  const at::Tensor& advantage_BL = batch_.tokens.advantage_BL;
  if (advantage_BL.defined()) input.advantage_BL = advantage_BL.to(options);
  input.valid_BL = batch_.trajectories.valid_BL.to(device);
  input.totals = batch_.totals;
  input.scored_B = batch_.scored_B.to(device);
  return input;
}

/// A loss whose log-probabilities are finite has been found to be finite.
void StepLoss::require_finite(double value) const {
  if (std::isfinite(value)) return;
  in_plugin(model_, "forward", [&] {
    throw Error("log-probabilities are not finite, and the loss is " + std::to_string(value),
                "the weights have diverged: continue from a checkpoint with a lower learning_rate (--resume --set …)");
  });
}

/// d loss / d log-prob and, where the loss needs entropies, d loss / d entropy.
std::vector<at::Tensor> StepLoss::gradients_of(const at::Tensor& value, const LossInput& input) {
  std::vector<at::Tensor> leaves{input.log_probs.current_FL};
  if (needs_.entropy) leaves.push_back(input.log_probs.entropy_FL);
  std::vector<at::Tensor> gradients(leaves.size());
  if (value.requires_grad()) {
    in_plugin(loss_, "gradient", [&] {
      gradients = torch::autograd::grad({value}, leaves, {}, std::nullopt, false, /*allow_unused=*/true);
      if (std::ranges::none_of(gradients, [](const at::Tensor& one) { return one.defined(); }))
        throw Error("the loss has a gradient, but not by the log-probabilities",
                    "compute it from log_probs.current_FL, without detach() on the way");
    });
  }
  double size = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = gradients[i].defined() ? gradients[i].detach() : at::zeros_like(leaves[i]).detach();
    size += gradients[i].abs().sum().item<double>();
  }
  if (!std::isfinite(size)) {
    in_plugin(loss_, "gradient", [&] {
      throw Error("the gradient of the loss is not finite, and the loss is",
                  "the gradient of exp(), log() or a quotient passes through at::where(): bound what goes in");
    });
  }
  result_.has_gradient = result_.has_gradient || size > 0;
  return gradients;
}

}  // namespace drift
