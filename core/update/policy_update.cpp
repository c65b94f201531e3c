#include <core/update/policy_update.h>

#include <core/base/phase_timer.h>
#include <core/base/unknown.h>
#include <core/boundary/checked.h>
#include <core/update/batch_totals.h>

#include <ATen/ops/_unique.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

namespace drift {

/// One optimizer step and the other policies' scores of its views.
struct PolicyUpdate::Part : UpdateStep {
  std::vector<std::int64_t> views;  // numbers in the plan
  PolicyScores old_policy;          // logprob_FL undefined: the weights are still those that wrote the responses
  PolicyScores reference;
};

/// Over the optimizer steps of one rollout.
struct PolicyUpdate::Sum {
  UpdateResult result;
  std::map<std::string, MetricSum> metrics;
};

PolicyUpdate::PolicyUpdate(Ranks& ranks, const Model& model, const Loaded<LossEstimator>& loss,
                           ReferencePolicy* reference, Optimizer& optimizer, const PolicyUpdateSettings& settings)
    : ranks_(ranks), model_(model), loss_(loss), reference_(reference), optimizer_(optimizer), settings_(settings) {
  needs_ = checked_needs(*loss_);
}

// The first optimizer step finds the weights as the rollout left them, so that its log-probabilities are the old
// policy's for later inner iterations on the same views. All other scores are taken before it.
UpdateResult PolicyUpdate::run(const Trajectories& kept, const std::vector<MaskPlan>& plans,
                               const at::Tensor& advantage_B, const std::vector<TokenAdvantages>& tokens,
                               std::vector<LossTreatment>* treatments) {
  Sum sum;
  if (treatments != nullptr) {
    for (const MaskPlan& plan : plans) treatments->emplace_back(plan);
  }
  std::vector<std::vector<Part>> parts;
  std::int64_t steps = 0;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    parts.push_back(parts_of(kept, advantage_B, tokens.empty() ? TokenAdvantages() : tokens[p], plans[p], p == 0, sum));
  }
  for (std::int64_t j = 0; j < settings_.inner_iterations; ++j) {
    steps += static_cast<std::int64_t>(parts[std::min(static_cast<std::size_t>(j), parts.size() - 1)].size());
  }
  bool is_first = true;
  for (std::int64_t j = 0; j < settings_.inner_iterations; ++j) {
    const std::size_t p = std::min(static_cast<std::size_t>(j), parts.size() - 1);
    for (Part& part : parts[p]) {
      const at::Tensor gradient_FL = step(steps, part, sum);
      if (treatments != nullptr) (*treatments)[p].add(part.views, gradient_FL, is_first);
      is_first = false;
    }
  }
  sum.result.loss /= static_cast<double>(steps);
  sum.result.gradient_norm /= static_cast<double>(steps);
  for (const auto& [name, metric] : sum.metrics) {
    sum.result.metrics[name] = metric.count > 0 ? metric.sum / metric.count : kUnknown;
  }
  return sum.result;
}

std::vector<PolicyUpdate::Part> PolicyUpdate::parts_of(const Trajectories& kept, const at::Tensor& advantage_B,
                                                       const TokenAdvantages& tokens, const MaskPlan& plan,
                                                       bool unchanged_weights, Sum& sum) const {
  std::vector<Part> parts;
  const Coupling coupling = checked_coupling(*loss_);
  for (const auto& views : update_parts(plan, coupling, settings_.views_per_update)) {
    Part part{update_step(kept, advantage_B, plan, coupling, views, settings_.group_size, tokens), views, {}, {}};
    const bool from_old_policy = needs_.reference && reference_->is_old_policy();
    const bool first = unchanged_weights && parts.empty();
    const bool asked = needs_.old || from_old_policy;
    if (asked && (!first || (from_old_policy && needs_.entropy))) {
      const PhaseTimer timer;
      part.old_policy = score_views(ranks_, model_, part.trajectories, part.plan, all_views(part.plan),
                                    from_old_policy && needs_.entropy);
      sum.result.old_seconds += timer.seconds();
      sum.result.forward_rows += part.old_policy.rows;
    }
    if (needs_.reference && !from_old_policy) {
      const PhaseTimer timer;
      part.reference = score_views(ranks_, reference_->model(), part.trajectories, part.plan, all_views(part.plan),
                                   needs_.entropy, RowAdapters{.on = !reference_->is_without_adapters()});
      sum.result.reference_seconds += timer.seconds();
      sum.result.forward_rows += part.reference.rows;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

/// @return d loss / d log-prob of the part's views
at::Tensor PolicyUpdate::step(std::int64_t optimizer_steps, Part& part, Sum& sum) {
  UpdateBatch batch = update_batch(part);
  batch.old_policy = part.old_policy;
  batch.reference = part.reference;
  batch.reference_is_old_policy = needs_.reference && reference_->is_old_policy();
  batch.totals.optimizer_steps = optimizer_steps;
  if (settings_.dropout) batch.adapters.dropout = settings_.dropout->child(std::to_string(optimizer_.steps()));

  const PhaseTimer timer;
  auto gradient = policy_gradient(ranks_, model_, *loss_, batch, settings_.memory_budget, settings_.shard);
  sum.result.gradient_norm += optimizer_.step(std::move(gradient.gradients));
  if (reference_ != nullptr) reference_->after_optimizer_step(optimizer_.steps(), model_);
  sum.result.gradient_seconds += timer.seconds();
  if (!part.old_policy.logprob_FL.defined()) part.old_policy.logprob_FL = gradient.current_FL;

  if (settings_.keep_logprobs)
    sum.result.logprobs.push_back(gradient.current_FL.cpu().masked_select(part.plan.target_FL));
  sum.result.loss += gradient.loss;
  sum.result.forward_rows += gradient.rows;
  sum.result.backward_rows += gradient.backward_rows;
  sum.result.two_pass = sum.result.two_pass || gradient.two_pass;
  sum.result.has_gradient = sum.result.has_gradient || gradient.has_gradient;
  for (const auto& [name, metric] : gradient.metrics) {
    sum.metrics[name].sum += metric.sum;
    sum.metrics[name].count += metric.count;
  }
  return gradient.gradient_FL;
}

MaskPlan draw_plan(const MaskingStrategy& masking, const Trajectories& responses, const ModelTraits& traits,
                   const PlanDraw& draw) {
  MaskingInput input;
  input.trajectories = &responses;
  input.random = draw.random;
  input.step = draw.step;
  input.response_number_B =
      draw.response_number_B.defined() ? draw.response_number_B : at::arange(responses.tokens_BL.size(0), at::kLong);
  input.inner_iteration = draw.inner_iteration;
  input.end_id = traits.end_id;
  input.end_ids_E = at::tensor(end_ids(traits), at::kLong);
  input.pad_id = traits.pad_id;
  return checked_plan(masking, input);
}

UpdateBatch update_batch(const UpdateStep& step) {
  UpdateBatch batch;
  batch.trajectories = &step.trajectories;
  batch.plan = &step.plan;
  batch.advantage_B = step.advantage_B;
  batch.tokens = step.tokens;
  batch.totals = step.totals;
  batch.scored_B = step.scored_B;
  batch.share = step.share;
  return batch;
}

Trajectories select_responses(const Trajectories& trajectories, const at::Tensor& index) {
  const auto take = [&](const at::Tensor& tensor) { return tensor.index_select(0, index); };
  Trajectories selected;
  selected.prompts = {take(trajectories.prompts.tokens_BP), take(trajectories.prompts.mask_BP),
                      take(trajectories.prompts.group_B)};
  selected.tokens_BL = take(trajectories.tokens_BL);
  selected.valid_BL = take(trajectories.valid_BL);
  selected.step_BL = take(trajectories.step_BL);
  selected.commit_logprob_BL = take(trajectories.commit_logprob_BL);
  selected.forwards_B = take(trajectories.forwards_B);
  return selected;
}

UpdateStep update_step(const Trajectories& kept, const at::Tensor& advantage_B, const MaskPlan& plan, Coupling coupling,
                       const std::vector<std::int64_t>& views, std::int64_t group_size, const TokenAdvantages& tokens) {
  UpdateStep step{kept, advantage_B, select_views(plan, views, at::kCPU), {}, {}};
  step.tokens = tokens;
  const bool whole = step.plan.response_F.size(0) == plan.response_F.size(0);
  if (coupling == Coupling::kBatch && !whole) {
    const auto [responses, number_F] = at::_unique(step.plan.response_F, /*sorted=*/true, /*return_inverse=*/true);
    step.trajectories = select_responses(kept, responses);
    step.advantage_B = advantage_B.index_select(0, responses);
    for (at::Tensor TokenAdvantages::*own_BL :
         {&TokenAdvantages::advantage_BL, &TokenAdvantages::value_BL, &TokenAdvantages::return_BL}) {
      if ((tokens.*own_BL).defined()) step.tokens.*own_BL = (tokens.*own_BL).index_select(0, responses);
    }
    step.plan.response_F = number_F;
  }
  const MaskPlan& batch = coupling == Coupling::kBatch ? step.plan : plan;
  const std::int64_t responses = step.advantage_B.size(0);
  step.totals = batch_totals(batch, responses, group_size, /*optimizer_steps=*/1);
  step.scored_B = scored_positions(batch, responses);
  step.share = static_cast<double>(step.plan.response_F.size(0)) / static_cast<double>(batch.response_F.size(0));
  return step;
}

std::vector<std::vector<std::int64_t>> update_parts(const MaskPlan& plan, Coupling coupling,
                                                    std::int64_t views_per_update) {
  const auto order = all_views(plan);
  if (views_per_update == 0 || plan.response_F.size(0) <= views_per_update) return {order};
  const std::int64_t* response = plan.response_F.const_data_ptr<std::int64_t>();
  std::vector<std::vector<std::int64_t>> parts;
  for (const std::int64_t view : order) {
    const bool full = parts.empty() || static_cast<std::int64_t>(parts.back().size()) >= views_per_update;
    const bool may_begin = coupling == Coupling::kView || view == 0 || response[view] != response[view - 1];
    if (full && may_begin) parts.emplace_back();
    parts.back().push_back(view);
  }
  return parts;
}

}  // namespace drift
