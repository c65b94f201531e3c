#include <core/update/value_model.h>

#include <drift/error.h>

#include <core/base/trainable.h>
#include <core/boundary/checked.h>
#include <core/boundary/plugin_call.h>
#include <core/update/gradient_sum.h>
#include <core/update/policy_scores.h>
#include <core/update/update_batch.h>
#include <core/update/update_passes.h>
#include <core/update/view_rows.h>

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>

namespace drift {
namespace {

constexpr const char* kHead = "value_head";
const std::string kValueStatePrefix = "value.";
const std::string kWeightPrefix = kValueStatePrefix + "weight.";

at::Tensor zero_head(const Model& model) {
  const auto options = at::TensorOptions(model.dtype()).device(model.device());
  return at::zeros({model.traits().hidden_size}, options).set_requires_grad(true);
}

std::vector<NamedTensor> with_head(const Model& model, const at::Tensor& head_H) {
  auto parameters = trainable_parameters(model);
  parameters.push_back({kHead, head_H});
  return parameters;
}

/// One estimate for each target.
at::Tensor values_of(const at::Tensor& hidden_NH, const TargetSet& chosen, const at::Tensor& head_H) {
  const auto type = at::toOpMathType(hidden_NH.scalar_type());
  const auto value_N = at::matmul(hidden_NH.index_select(0, chosen.rows_N).to(type), head_H.to(type));
  return value_N.index_select(0, chosen.targets.row_E);
}

}  // namespace

bool has_value_model(const RunConfig& config) { return config.get<ValueModelSettings>().enabled; }

void check_value_model(const RunConfig& config, std::int64_t ranks) {
  if (!config.has("value") || !has_value_model(config)) return;
  const auto refuse = [](const std::string& key, const std::string& value, const std::string& instead) {
    throw Error("a value model trains all weights of a second model, and " + key + " = \"" + value + "\"",
                "set " + key + " = \"" + instead + "\", or value.enabled = false");
  };
  if (config.get<AdapterSettings>().lora) refuse("adapter.kind", "lora", "none");
  const auto model = config.get<ModelSettings>();
  if (model.is_quantized()) refuse("model.quantize", model.quantize, "none");
  const Shard shard = config.get<DistributedSettings>().shard;
  if (ranks > 1 && shard != Shard::kNone) refuse("distributed.shard", name_of(shard), "none");
}

ValueSettings ValueSettings::from(const RunConfig& config, const OptimizerSettings& policy) {
  const auto train = config.get<TrainSettings>();
  ValueSettings settings{config.get<ValueModelSettings>(), train.views_per_update, train.memory_budget, policy};
  settings.optimizer.learning_rate = settings.learning_rate;
  return settings;
}

at::Tensor clipped_value_loss(const at::Tensor& value, const at::Tensor& old, const at::Tensor& target, double clip) {
  const auto near = old + (value - old).clamp(-clip, clip);
  return 0.5 * at::maximum((value - target).square(), (near - target).square());
}

at::Tensor value_weights(const at::Tensor& target_FL, ValueNorm norm) {
  const double views = static_cast<double>(std::max<std::int64_t>(1, target_FL.size(0)));
  const auto targets_F1 = target_FL.sum(1, /*keepdim=*/true).clamp_min(1).to(at::kDouble);
  const auto divisor_F1 = norm == ValueNorm::kTargets ? targets_F1 : at::full_like(targets_F1, target_FL.size(1));
  return target_FL.to(at::kDouble) / divisor_F1 / views;
}

/// One optimizer step: some views, and what their targets' losses are made of, [F, L].
struct ValueModel::Step {
  MaskPlan plan;
  at::Tensor old_FL, return_FL, weight_FL;
};

ValueModel::ValueModel(Ranks& ranks, const ValueSettings& settings, Loaded<Model> model)
    : ranks_(ranks),
      settings_(settings),
      model_(std::move(model)),
      head_H_(zero_head(*model_)),
      parameters_(with_head(*model_, head_H_)),
      optimizer_(ranks, parameters_, settings.optimizer) {}

at::Tensor ValueModel::estimate(const Trajectories& trajectories, const MaskPlan& plan) const {
  const at::NoGradGuard no_gradient;
  const ViewRows rows(ranks_, model_->traits(), trajectories, plan, all_views(plan), kTokensPerForward);
  const auto device = model_->device();
  const auto value_FL = at::zeros({plan.response_F.size(0), rows.length()},
                                  at::TensorOptions(at::toOpMathType(model_->dtype())).device(device));
  const auto estimate_rows = [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    const auto batch = rows.batch(begin, end, device);
    const auto chosen = select_targets(batch, rows.flat(), kAllRows, device);
    const auto value_E = values_of(checked_forward(*model_, batch.forward), chosen, head_H_);
    value_FL.view({-1}).index_copy_(0, chosen.flat_E, value_E);
  };
  rows.for_each_batch(scoring_workers(*model_, device.is_cpu()), rows_of_a_forward(rows.sequence()), estimate_rows);
  ranks_.all_reduce({value_FL});  // a place is 0 but on the rank that has its row
  return value_FL.cpu();
}

double ValueModel::train(const Trajectories& trajectories, const MaskPlan& plan, const TokenAdvantages& tokens) {
  double loss = 0;
  const auto steps = views_of_steps(plan, Coupling::kView, settings_.views_per_update);
  for (const Views& views : steps) {
    Step step{select_views(plan, views, at::kCPU), {}, {}, {}};
    step.old_FL = tokens.value_BL.index_select(0, step.plan.response_F);
    step.return_FL = tokens.return_BL.index_select(0, step.plan.response_F);
    step.weight_FL = value_weights(step.plan.target_FL, settings_.norm).to(step.old_FL.scalar_type());
    optimizer_.step(gradients(trajectories, step, loss));
  }
  return loss / static_cast<double>(steps.size());
}

/// Adds the loss of the step to `loss`.
std::vector<at::Tensor> ValueModel::gradients(const Trajectories& trajectories, const Step& step, double& loss) const {
  const std::int64_t sequence = row_tokens(model_->traits(), trajectories, step.plan);
  const auto device = model_->device();
  const std::int64_t workers = scoring_workers(*model_, device.is_cpu());
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& parameter : parameters_) tensors.push_back(parameter.tensor);
  GradientSum sum(ranks_, tensors, workers);
  std::vector<at::Tensor> losses;  // of each worker
  for (std::int64_t worker = 0; worker < workers; ++worker)
    losses.push_back(at::zeros({}, at::TensorOptions(at::kDouble).device(device)));

  const auto memory =
      divide_memory(*model_, sequence, step.plan.target_FL.sum().item<std::int64_t>(), settings_.memory_budget);
  for (const UpdatePass& pass : plan_passes(step.plan, Coupling::kView, memory, ranks_.size())) {
    const ViewRows rows(ranks_, model_->traits(), trajectories, step.plan, pass.views(), pass.most_tokens(sequence));
    const auto of_views = [&](const at::Tensor& all_FL) {
      return on_device(all_FL.index_select(0, index_tensor(rows.views())), device).view({-1});
    };
    const auto old = of_views(step.old_FL), target = of_views(step.return_FL), weight = of_views(step.weight_FL);
    rows.for_each_worker(workers, [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
      auto batch = rows.batch(begin, end, device);
      batch.forward.recompute_blocks = pass.recompute;
      const auto chosen = select_targets(batch, rows.flat(), kAllRows, device);
      const auto pick = [&](const at::Tensor& all) { return all.index_select(0, chosen.flat_E); };
      const auto value_E = values_of(checked_forward(*model_, batch.forward), chosen, head_H_);
      const auto loss_E = clipped_value_loss(value_E, pick(old), pick(target), settings_.clip) * pick(weight);
      const auto of_rows = loss_E.sum();
      losses[static_cast<std::size_t>(worker)].add_(of_rows.detach());
      in_plugin(*model_, "backward", [&] { sum.backward(worker, {of_rows}, {at::ones({}, of_rows.options())}); });
    });
  }
  auto gradients = sum.take_total();
  const auto total = at::zeros({1}, at::kDouble);
  for (const at::Tensor& of_worker : losses) total.add_(of_worker.cpu());
  gradients.push_back(total);
  ranks_.all_reduce(gradients);
  gradients.pop_back();
  loss += total.item<double>();
  return gradients;
}

std::vector<NamedTensor> ValueModel::state() const {
  std::vector<NamedTensor> state;
  for (const NamedTensor& one : parameters_)
    state.push_back({kWeightPrefix + one.name, one.tensor.detach().cpu().contiguous()});
  for (NamedTensor& one : optimizer_.state()) state.push_back({kValueStatePrefix + one.name, std::move(one.tensor)});
  return state;
}

void ValueModel::load_state(const std::vector<NamedTensor>& state) {
  const at::NoGradGuard no_gradient;
  for (const NamedTensor& one : parameters_) {
    const auto saved = std::ranges::find(state, kWeightPrefix + one.name, &NamedTensor::name);
    if (saved == state.end() || saved->tensor.sizes() != one.tensor.sizes()) {
      throw Error("the training state lacks `" + kWeightPrefix + one.name + "`",
                  "the checkpoint was written by another version of Drift, or without value.enabled");
    }
    auto parameter = one.tensor;
    parameter.copy_(saved->tensor);
  }
  std::vector<NamedTensor> of_optimizer;
  for (const NamedTensor& one : state) {
    if (one.name.starts_with(kValueStatePrefix) && !one.name.starts_with(kWeightPrefix))
      of_optimizer.push_back({one.name.substr(kValueStatePrefix.size()), one.tensor});
  }
  optimizer_.load_state(of_optimizer);
}

}  // namespace drift
