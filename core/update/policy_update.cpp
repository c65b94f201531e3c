#include <core/update/policy_update.h>

#include <core/base/phase_timer.h>
#include <core/base/unknown.h>
#include <core/boundary/checked.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

namespace drift {

struct PolicyUpdate::Step {
  UpdateBatch batch;
  Views views;  // numbers in the plan
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
  std::vector<std::vector<Step>> steps;  // of each plan
  for (std::size_t p = 0; p < plans.size(); ++p)
    steps.push_back(steps_of(kept, advantage_B, tokens.empty() ? TokenAdvantages() : tokens[p], plans[p], p == 0, sum));
  const auto plan_of = [&](std::int64_t inner_iteration) {
    return std::min(static_cast<std::size_t>(inner_iteration), steps.size() - 1);
  };
  std::int64_t count = 0;
  for (std::int64_t j = 0; j < settings_.inner_iterations; ++j) count += std::ssize(steps[plan_of(j)]);
  bool is_first = true;
  for (std::int64_t j = 0; j < settings_.inner_iterations; ++j) {
    for (Step& step : steps[plan_of(j)]) {
      step.batch.totals.optimizer_steps = count;
      const at::Tensor gradient_FL = take(step, sum);
      if (treatments != nullptr) (*treatments)[plan_of(j)].add(step.views, gradient_FL, is_first);
      is_first = false;
    }
  }
  sum.result.loss /= static_cast<double>(count);
  sum.result.gradient_norm /= static_cast<double>(count);
  for (const auto& [name, metric] : sum.metrics) {
    sum.result.metrics[name] = metric.count > 0 ? metric.sum / metric.count : kUnknown;
  }
  return sum.result;
}

std::vector<PolicyUpdate::Step> PolicyUpdate::steps_of(const Trajectories& kept, const at::Tensor& advantage_B,
                                                       const TokenAdvantages& tokens, const MaskPlan& plan,
                                                       bool unchanged_weights, Sum& sum) const {
  std::vector<Step> steps;
  const Coupling coupling = checked_coupling(*loss_);
  for (const Views& views : views_of_steps(plan, coupling, settings_.views_per_update)) {
    Step step{update_batch(kept, advantage_B, plan, coupling, views, settings_.group_size, tokens), views};
    score(unchanged_weights && steps.empty(), step.batch, sum);
    steps.push_back(std::move(step));
  }
  return steps;
}

/// What the old and the reference policy think of the step's views.
/// @param unchanged_weights  in this step they are still those that wrote the responses
void PolicyUpdate::score(bool unchanged_weights, UpdateBatch& batch, Sum& sum) const {
  batch.reference_is_old_policy = needs_.reference && reference_->is_old_policy();
  const bool entropy_of_old = batch.reference_is_old_policy && needs_.entropy;
  const bool scores_old = (needs_.old || batch.reference_is_old_policy) && (!unchanged_weights || entropy_of_old);
  const bool scores_reference = needs_.reference && !batch.reference_is_old_policy;
  if (!scores_old && !scores_reference) return;
  const ViewRows rows(ranks_, model_.traits(), batch.trajectories, batch.plan, all_views(batch.plan),
                      kTokensPerForward);
  if (scores_old) {
    const PhaseTimer timer;
    batch.old_policy = score_rows(ranks_, model_, rows, entropy_of_old);
    sum.result.old_seconds += timer.seconds();
    sum.result.forward_rows += rows.count();
  }
  if (scores_reference) {
    const PhaseTimer timer;
    batch.reference = score_rows(ranks_, reference_->model(), rows, needs_.entropy,
                                 RowAdapters{.on = !reference_->is_without_adapters()});
    sum.result.reference_seconds += timer.seconds();
    sum.result.forward_rows += rows.count();
  }
}

/// @return d loss / d log-prob of the step's views
at::Tensor PolicyUpdate::take(Step& step, Sum& sum) {
  UpdateBatch& batch = step.batch;
  if (settings_.dropout) batch.adapters.dropout = settings_.dropout->child(std::to_string(optimizer_.steps()));

  const PhaseTimer timer;
  auto gradient = policy_gradient(ranks_, model_, *loss_, batch, settings_.memory_budget, settings_.shard);
  sum.result.gradient_norm += optimizer_.step(std::move(gradient.gradients));
  if (reference_ != nullptr) reference_->after_optimizer_step(optimizer_.steps(), model_);
  sum.result.gradient_seconds += timer.seconds();
  if (!batch.old_policy.logprob_FL.defined()) batch.old_policy.logprob_FL = gradient.current_FL;

  if (settings_.keep_logprobs)
    sum.result.logprobs.push_back(gradient.current_FL.cpu().masked_select(batch.plan.target_FL));
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

LossTreatment::LossTreatment(const MaskPlan& plan)
    : gradient_FL(at::zeros(plan.target_FL.sizes(), at::kFloat)),
      steps_F(at::zeros_like(plan.response_F)),
      zero_FL(at::zeros(plan.target_FL.sizes(), at::kLong)),
      dropped_FL(at::zeros_like(plan.target_FL)),
      target_FL_(plan.target_FL) {}

void LossTreatment::add(const Views& views, const at::Tensor& gradient_NL, bool is_first) {
  const auto index = index_tensor(views);
  const auto gradient = gradient_NL.to(at::kCPU, at::kFloat);
  const auto is_zero = (gradient == 0).logical_and(target_FL_.index_select(0, index));
  gradient_FL.index_add_(0, index, gradient);
  steps_F.index_add_(0, index, at::ones_like(index));
  zero_FL.index_add_(0, index, is_zero.to(at::kLong));
  if (is_first) dropped_FL.index_copy_(0, index, is_zero);
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
  input.block_size = traits.block_size;
  return checked_plan(masking, input);
}

}  // namespace drift
