#include <core/update/value_model.h>

#include <drift/error.h>
#include <drift/parallel.h>

#include <core/base/trainable.h>
#include <core/boundary/checked.h>
#include <core/boundary/plugin_call.h>
#include <core/update/gradient_sum.h>
#include <core/update/policy_gradient.h>
#include <core/update/policy_scores.h>
#include <core/update/policy_update.h>
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
struct ValueModel::Part {
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
  auto rows = rows_of_this_rank(ranks_, distinct_view_rows(model_->traits(), trajectories, plan, all_views(plan)));
  const std::int64_t length = trajectories.tokens_BL.size(1);
  const std::int64_t sequence = trajectories.prompts.tokens_BP.size(1) + length;
  const auto device = model_->device();
  const Range all_flat{0, plan.response_F.size(0) * length};
  const auto value_FL =
      at::zeros({plan.response_F.size(0), length}, at::TensorOptions(at::toOpMathType(model_->dtype())).device(device));
  const std::int64_t workers = scoring_workers(*model_, device.is_cpu());
  const std::int64_t rows_at_once = rows_scored_at_once(*model_, sequence, device.is_cpu()) / workers;
  parallel_rows(workers, static_cast<std::int64_t>(rows.size()),
                [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                  for (std::int64_t first = begin; first < end; first += rows_at_once) {
                    const auto batch =
                        make_row_batch(*model_, trajectories, rows, first, std::min(end, first + rows_at_once), device);
                    const auto chosen = select_targets(batch, all_flat, kAllRows, device);
                    value_FL.view({-1}).index_copy_(
                        0, chosen.flat_E, values_of(checked_forward(*model_, batch.forward), chosen, head_H_));
                  }
                });
  ranks_.all_reduce({value_FL});  // a place is 0 but on the rank that has its row
  return value_FL.cpu();
}

ValueUpdate ValueModel::train(const Trajectories& trajectories, const MaskPlan& plan, const TokenAdvantages& tokens) {
  ValueUpdate update;
  const auto parts = update_parts(plan, Coupling::kView, settings_.views_per_update);
  for (const auto& views : parts) {
    Part part{select_views(plan, views, at::kCPU), {}, {}, {}};
    const auto type = tokens.value_BL.scalar_type();
    part.old_FL = tokens.value_BL.index_select(0, part.plan.response_F);
    part.return_FL = tokens.return_BL.index_select(0, part.plan.response_F);
    part.weight_FL = value_weights(part.plan.target_FL, settings_.norm).to(type);
    optimizer_.step(gradients(trajectories, part, update));
  }
  update.loss /= static_cast<double>(parts.size());
  return update;
}

/// Adds the loss of the part to that of `update`.
std::vector<at::Tensor> ValueModel::gradients(const Trajectories& trajectories, const Part& part,
                                              ValueUpdate& update) const {
  const std::int64_t length = trajectories.tokens_BL.size(1);
  const std::int64_t sequence = trajectories.prompts.tokens_BP.size(1) + length;
  const auto device = model_->device();
  const std::int64_t workers = scoring_workers(*model_, device.is_cpu());
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& parameter : parameters_) tensors.push_back(parameter.tensor);
  GradientSum sum(ranks_, tensors, workers);
  std::vector<double> losses(static_cast<std::size_t>(workers));

  const auto memory =
      divide_memory(*model_, sequence, part.plan.target_FL.sum().item<std::int64_t>(), settings_.memory_budget);
  for (const UpdatePass& pass : plan_passes(part.plan, Coupling::kView, memory, ranks_.size())) {
    const Views views = pass.views();
    auto rows = distinct_view_rows(model_->traits(), trajectories, part.plan, views);
    update.forward_rows += static_cast<std::int64_t>(rows.size());
    update.backward_rows += static_cast<std::int64_t>(rows.size());
    rows = rows_of_this_rank(ranks_, std::move(rows));
    const auto of_views = [&](const at::Tensor& all_FL) {
      return all_FL.index_select(0, index_tensor(views)).to(device).view({-1});
    };
    const auto old = of_views(part.old_FL), target = of_views(part.return_FL), weight = of_views(part.weight_FL);
    const Range flat{0, static_cast<std::int64_t>(views.size()) * length};
    parallel_rows(
        workers, static_cast<std::int64_t>(rows.size()),
        [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
          if (begin == end) return;
          auto batch = make_row_batch(*model_, trajectories, rows, begin, end, device);
          batch.forward.recompute_blocks = pass.recompute;
          const auto chosen = select_targets(batch, flat, kAllRows, device);
          const auto pick = [&](const at::Tensor& all) { return all.index_select(0, chosen.flat_E); };
          const auto value_E = values_of(checked_forward(*model_, batch.forward), chosen, head_H_);
          const auto loss = (clipped_value_loss(value_E, pick(old), pick(target), settings_.clip) * pick(weight)).sum();
          losses[static_cast<std::size_t>(worker)] += loss.item<double>();
          in_plugin(*model_, "backward", [&] { sum.backward(worker, {loss}, {at::ones({}, loss.options())}); });
        });
  }
  auto gradients = sum.take_total();
  double loss = 0;
  for (const double one : losses) loss += one;
  const auto total = at::full({1}, loss, at::kDouble);
  gradients.push_back(total);
  ranks_.all_reduce(gradients);
  gradients.pop_back();
  update.loss += total.item<double>();
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
