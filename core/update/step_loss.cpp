#include <core/update/step_loss.h>

#include <core/base/phase_timer.h>
#include <core/boundary/checked.h>
#include <core/boundary/checks.h>
#include <core/boundary/plugin_call.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/stack.h>
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
  const auto device = result_.current_FL.device();
  const auto type = result_.current_FL.scalar_type();
  all_views_.plan = plan_on_device(batch.plan, device);
  all_views_.advantage_B = on_device(batch.advantage_B.to(type), device);
  const at::Tensor& advantage_BL = batch.tokens.advantage_BL;
  if (advantage_BL.defined()) all_views_.advantage_BL = on_device(advantage_BL.to(type), device);
  all_views_.valid_BL = on_device(batch.trajectories.valid_BL, device);
  all_views_.totals = batch.totals;
  all_views_.scored_B = on_device(batch.scored_B, device);
}

ScoreGradient StepLoss::evaluate(const Views& views, const PolicyScores& current) {
  const PhaseTimer timer;
  const auto index = index_tensor(views, current.logprob_FL.device());
  result_.current_FL.index_copy_(0, index, current.logprob_FL);
  const LossInput in = input(views, index, current);
  Loss loss = checked_loss(loss_, in);
  if (batch_.fraction != 1) loss.value = loss.value / batch_.fraction;
  const auto gradients = gradients_of(loss.value, in);
  result_.gradient_FL.index_copy_(0, index, gradients[0]);

  Evaluation evaluation{{}, loss.value.requires_grad(), {}};
  std::vector<at::Tensor> numbers{loss.value, at::isfinite(current.logprob_FL).all()};
  for (const at::Tensor& gradient : gradients) numbers.push_back(gradient.abs().sum());
  for (const LossMetric& metric : loss.metrics) {
    evaluation.metrics.push_back(metric.name);
    numbers.push_back(metric.sum);
    numbers.push_back(metric.count);
  }
  for (at::Tensor& number : numbers) number = number.detach().to(index.device(), at::kDouble).reshape({});
  evaluation.number_N = at::stack(numbers);
  evaluations_.push_back(std::move(evaluation));
  result_.seconds.loss += timer.seconds();
  return {gradients[0], needs_.entropy ? gradients[1] : at::Tensor()};
}

LossInput StepLoss::input(const Views& views, const at::Tensor& index, const PolicyScores& current) const {
  const auto device = index.device();
  LossInput input = all_views_;
  input.plan = select_views(all_views_.plan, views, device);
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
  return input;
}

/// d loss / d log-prob and, where the loss needs entropies, d loss / d entropy.
std::vector<at::Tensor> StepLoss::gradients_of(const at::Tensor& value, const LossInput& input) const {
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
  for (std::size_t i = 0; i < gradients.size(); ++i)
    gradients[i] = gradients[i].defined() ? gradients[i].detach() : at::zeros_like(leaves[i]).detach();
  return gradients;
}

void StepLoss::finish() {
  std::vector<at::Tensor> numbers;
  for (const Evaluation& one : evaluations_) numbers.push_back(one.number_N);
  const auto number_N = at::cat(numbers).cpu();
  const double* number = number_N.const_data_ptr<double>();
  for (const Evaluation& one : evaluations_) {
    take(one, number);
    number += one.number_N.size(0);
  }
}

void StepLoss::take(const Evaluation& evaluation, const double* number) {
  const double value = *number++, finite_input = *number++;
  in_plugin(loss_, "evaluate", [&] { check_loss_value(value, finite_input != 0, evaluation.has_gradient); });
  require_finite(value);
  result_.loss += value;
  double size = *number++;
  if (needs_.entropy) size += *number++;
  if (!std::isfinite(size)) {
    in_plugin(loss_, "gradient", [&] {
      throw Error("the gradient of the loss is not finite, and the loss is",
                  "the gradient of exp(), log() or a quotient passes through at::where(): bound what goes in");
    });
  }
  result_.has_gradient = result_.has_gradient || size > 0;
  for (const std::string& name : evaluation.metrics) {
    MetricSum& metric = result_.metrics[name];
    metric.sum += *number++;
    metric.count += *number++;
  }
}

/// A loss whose log-probabilities are finite has been found to be finite.
void StepLoss::require_finite(double value) const {
  if (std::isfinite(value)) return;
  in_plugin(model_, "forward", [&] {
    throw Error("log-probabilities are not finite, and the loss is " + std::to_string(value),
                "the weights have diverged: continue from a checkpoint with a lower learning_rate (--resume --set …)");
  });
}

}  // namespace drift
