// Losses, masking strategies, advantages and the LM head, on tensors of Python.

#include <core/boundary/checked.h>
#include <core/boundary/checks.h>
#include <core/boundary/tensor_words.h>
#include <core/cli/python/module.h>
#include <core/config/run_settings.h>
#include <core/config/training_settings.h>
#include <core/kernels/linear_log_softmax.h>
#include <core/python/structures.h>
#include <core/python/tensors.h>
#include <core/train/advantage.h>
#include <core/update/update_batch.h>

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace drift::python {
namespace {

// ---- losses ----

Object make_loss(const Object& given) { return held(component_in<LossEstimator>(given[0], given[1])); }

/// What the loss needs besides the current log-probabilities, and what it couples.
Object loss_facts(const Object& given) {
  const auto& loss = holding_a<LossEstimator>(given[0]);
  const LossNeeds needs = checked_needs(loss);
  return tuple({integer(static_cast<std::int64_t>(checked_coupling(loss))), boolean(needs.old),
                boolean(needs.reference), boolean(needs.entropy), boolean(needs.token_weights)});
}

/// A plan's weights are float32; those of log-probabilities in float64 may be, too.
at::ScalarType weights_type(const MaskPlan& plan, const at::Tensor& current_FL) {
  for (const at::Tensor* weights : {&plan.weight_F, &plan.token_weight_FL}) {
    if (weights->defined() && weights->scalar_type() == current_FL.scalar_type()) return weights->scalar_type();
  }
  return at::kFloat;
}

/// What evaluate_loss() is given for the loss, but `scored_B`.
LossInput loss_input(const Object& given) {
  const at::Tensor current_FL = unwrapped(given[2][0]);
  const auto require_like_current = [&](const char* name, const at::Tensor& tensor, at::IntArrayRef sizes) {
    require_tensor(name, tensor, current_FL.scalar_type(), sizes, current_FL.device(), "it has to fit `current_FL`");
  };
  LossInput input;
  input.advantage_B = unwrapped(given[3]);
  const std::int64_t count = input.advantage_B.size(0), length = current_FL.size(1);
  input.plan = plan_in(given[1]);
  const at::Tensor& prompt_FP = input.plan.prompt_masked_FP;
  check_views(input.plan, count, length, prompt_FP.defined() ? prompt_FP.size(1) : 0,
              weights_type(input.plan, current_FL));
  const std::int64_t views = input.plan.response_F.size(0);
  if (!current_FL.is_cpu()) input.plan = plan_in(given[1], current_FL.device());
  require_like_current("advantages", input.advantage_B, {count});
  input.advantage_BL = unwrapped(given[4]);
  if (input.advantage_BL.defined()) require_like_current("token_advantages", input.advantage_BL, {count, length});
  input.valid_BL = unwrapped(given[5]);
  if (!input.valid_BL.defined()) input.valid_BL = at::ones({count, length}, current_FL.options().dtype(at::kBool));
  require_tensor("valid", input.valid_BL, at::kBool, {count, length}, current_FL.device(), "one for each token");
  const std::int64_t responses = given[6][0].integer(), group_size = given[6][1].integer(),
                     optimizer_steps = given[6][2].integer();
  if (responses < count || group_size < 1 || optimizer_steps < 1)
    throw Error("`responses` must be at least the number of advantages, `group_size` and `optimizer_steps` at least 1");
  input.totals = batch_totals(input.plan, responses, group_size, optimizer_steps);

  const bool all_count = input.totals.targets == current_FL.numel();
  LogProbs& scores = input.log_probs;
  std::int64_t next = 0;
  for (const auto& [name, tensor] : std::initializer_list<std::pair<const char*, at::Tensor*>>{
           {"current_FL", &scores.current_FL},
           {"old", &scores.old_FL},
           {"reference", &scores.reference_FL},
           {"entropy", &scores.entropy_FL},
           {"reference_entropy", &scores.reference_entropy_FL}}) {
    const at::Tensor values_FL = unwrapped(given[2][next++]);
    if (values_FL.defined()) require_like_current(name, values_FL, {views, length});
    *tensor = all_count || !values_FL.defined() ? values_FL : at::where(input.plan.target_FL, values_FL, 0);
  }
  if (!scores.old_FL.defined()) scores.old_FL = scores.current_FL.detach();
  if (!at::GradMode::is_enabled()) scores.current_FL = scores.current_FL.detach();
  return input;
}

/// (loss, plan, (current, old, reference, entropy, reference entropy), advantages, token advantages, valid,
/// (responses, group size, optimizer steps)) → (value, metrics).
Object evaluate_loss(const Object& given) {
  const auto& loss = holding_a<LossEstimator>(given[0]);
  LossInput input = loss_input(given);
  Loss value;
  {
    const WithoutGil released;
    input.scored_B = scored_positions(input.plan, input.advantage_B.size(0));
    value = checked_loss(loss, input);
  }
  return tuple({wrapped(value.value), held(std::make_shared<std::vector<LossMetric>>(std::move(value.metrics)))});
}

/// ((name, value), …) of what evaluate_loss() reports.
Object loss_metrics(const Object& given) {
  std::vector<Object> metrics;
  for (const LossMetric& metric : holding_a<std::vector<LossMetric>>(given[0])) {
    const double count = metric.count.item<double>();
    if (count > 0) metrics.push_back(tuple({text(metric.name), number(metric.sum.item<double>() / count)}));
  }
  return tuple(std::move(metrics));
}

// ---- masking strategies ----

/// (name, values) → (strategy, how often it draws).
Object make_masking(const Object& given) {
  const auto strategy = component_in<MaskingStrategy>(given[0], given[1]);
  return tuple({held(strategy), integer(static_cast<std::int64_t>(checked_refresh(*strategy)))});
}

/// (strategy, trajectories, (seed, step, inner iteration, end, padding, block), response numbers, end tokens) → plan.
Object draw_plan(const Object& given) {
  const auto& strategy = holding_a<MaskingStrategy>(given[0]);
  const Trajectories trajectories = trajectories_in(given[1]);
  MaskingInput input;
  input.trajectories = &trajectories;
  input.random = RandomStream(static_cast<std::uint64_t>(given[2][0].integer()), "train").child("masking");
  std::int64_t next = 1;
  for (std::int64_t* number : {&input.step, &input.inner_iteration, &input.end_id, &input.pad_id, &input.block_size})
    *number = given[2][next++].integer();
  input.response_number_B = unwrapped(given[3]);
  input.end_ids_E = unwrapped(given[4]);
  MaskPlan plan;
  {
    const WithoutGil released;
    plan = checked_plan(strategy, input);
  }
  return fields_of(plan);
}

// ---- advantages and the head ----

/// (rewards, group size, settings of [advantage]) → advantages.
Object compute_advantages(const Object& given) {
  const auto declared = declared_keys<AdvantageSettings>();
  const auto values = values_in(given[2]);
  require_declared(values, declared, "[advantage]");
  const auto settings = settings_from<AdvantageSettings>(Parameters(declared, values));
  return wrapped(advantages(unwrapped(given[0]), given[1].integer(), settings));
}

/// The logits of a forward, kept for its backward.
struct Head {
  kernels::LinearLogSoftmax softmax;
  at::Tensor weight_VH;
};

/// (hidden [N, H], weight [V, H], token [N], whether a backward follows) → (log-probabilities [N], head).
Object forward_head(const Object& given) {
  const at::Tensor hidden_NH = unwrapped(given[0]).detach(), weight_VH = unwrapped(given[1]).detach();
  const kernels::TokenTargets targets{at::arange(hidden_NH.size(0), hidden_NH.options().dtype(at::kLong)),
                                      unwrapped(given[2])};
  const bool keep = given[3].boolean();
  const auto head = std::make_shared<Head>(Head{kernels::LinearLogSoftmax(weight_VH), weight_VH});
  kernels::TokenScores scores;
  {
    const WithoutGil released;
    scores = keep ? head->softmax.forward(hidden_NH, targets, false) : head->softmax.score(hidden_NH, targets, false);
  }
  return tuple({wrapped(scores.logprob_E), keep ? held(head) : none()});
}

/// (head, gradient of the log-probabilities, whether the weight is trained) → (gradients of hidden and weight).
Object backward_head(const Object& given) {
  Head& head = holding_a<Head>(given[0]);
  const at::Tensor gradient_E = unwrapped(given[1]).contiguous();
  at::Tensor weight_gradient_VH, hidden_gradient_NH;
  if (given[2].boolean()) {
    const auto type = head.weight_VH.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    weight_gradient_VH = at::zeros_like(head.weight_VH, head.weight_VH.options().dtype(type));
  }
  {
    const WithoutGil released;
    hidden_gradient_NH = head.softmax.backward(gradient_E, {}, weight_gradient_VH, /*overwrite=*/true);
  }
  return tuple({wrapped(hidden_gradient_NH), wrapped(weight_gradient_VH)});
}

}  // namespace

std::vector<ModuleFunction> estimator_functions() {
  return {{"make_loss", make_loss},           {"loss_facts", loss_facts},     {"evaluate_loss", evaluate_loss},
          {"loss_metrics", loss_metrics},     {"make_masking", make_masking}, {"draw_plan", draw_plan},
          {"advantages", compute_advantages}, {"forward_head", forward_head}, {"backward_head", backward_head}};
}

}  // namespace drift::python
