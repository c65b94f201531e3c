// One training step, from prompts to parameters, as docs/architecture.md draws it. Each line calls a room below.

#include <core/base/phase_timer.h>
#include <core/boundary/checked.h>
#include <core/boundary/model_policy.h>
#include <core/io/json.h>
#include <core/rollout/together.h>
#include <core/train/policy_training.h>
#include <core/train/step_metrics.h>
#include <core/train/training_task.h>
#include <core/update/rollout_correction.h>
#include <core/update/rollout_gap.h>

#include <drift/error.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace drift {

StepRecord PolicyTraining::run(std::int64_t step) {
  const PhaseTimer timer;
  StepMetrics metrics(step, train_, report_);
  metrics.record.learning_rate = optimizer_.learning_rate();
  std::optional<StepInspection> inspection;
  if (inspect_.is_due(step)) inspection.emplace(step, train_.group_size, inspect_);

  const std::vector<TaskItem> items = draw_items(*components_.task, (step - 1) * train_.prompts_per_step,
                                                 train_.prompts_per_step, random_.child("task"));
  const Trajectories written = write_responses(step, items, metrics);
  const ScoredResponses scored = score(items, written, metrics);
  update(step, written, scored, metrics, inspection ? &*inspection : nullptr);

  if (inspection && ranks_.is_first())
    metrics.record.inspection = json_text(inspection->to_json({items, written, scored, components_.judge, prompts_}));
  metrics.record.plugin_metrics.merge(host_.take_metrics(ranks_));
  metrics.record.seconds->total = timer.seconds();
  return std::move(metrics.record);
}

Trajectories PolicyTraining::write_responses(std::int64_t step, const std::vector<TaskItem>& items,
                                             StepMetrics& metrics) const {
  const PhaseTimer timer;
  const at::NoGradGuard no_gradient;
  const ModelPolicy policy(model_);
  RolloutInput input;
  input.policy = &policy;
  input.random = random_.child("rollout");
  input.step = step;
  input.prompts = prompts_.encode(items, train_.group_size, checked_response_length(*components_.rollout));
  Trajectories written;
  generate_together(ranks_, *components_.rollout, model_, input, written);
  metrics.record.seconds->rollout = timer.seconds();
  return written;
}

ScoredResponses PolicyTraining::score(const std::vector<TaskItem>& items, const Trajectories& written,
                                      StepMetrics& metrics) const {
  metrics.take(rollout_gap(ranks_, model_, written, train_.gap_responses, random_.child("gap"), metrics.record.step));
  const PhaseTimer timer;
  const ScoredResponses scored =
      score_responses(ranks_, items, written, train_.group_size, components_.judge, prompts_, model_.traits(), score_);
  metrics.record.seconds->reward = timer.seconds();
  metrics.take(written, scored, components_.judge.labels());
  metrics.show_responses(items, written, scored, prompts_.tokenizer());
  return scored;
}

/// The optimizer steps on what was written; none, if there is nothing to learn from it.
void PolicyTraining::update(std::int64_t step, const Trajectories& written, const ScoredResponses& scored,
                            StepMetrics& metrics, StepInspection* inspection) {
  const at::Tensor number_B = choose_responses(step, written, scored, metrics);
  if (!number_B.defined()) return metrics.skip(*metrics.record.live_groups > 0 ? kNoGroupKept : "");
  const Trajectories kept = select_responses(written, number_B);
  const std::vector<MaskPlan> plans = draw_plans(step, kept, number_B);
  if (plans.front().response_F.size(0) == 0)
    return metrics.skip("the masking strategy `" + components_.masking.name() + "` gives no views of these " +
                        "responses; there is nothing to learn, the optimizer step is skipped");

  const at::Tensor advantage_B = advantages(scored.reward_B.index_select(0, number_B), train_.group_size, advantage_);
  if (train_.restarts_optimizer) optimizer_.restart();
  const std::vector<TokenAdvantages> tokens = token_advantages(step, kept, plans, advantage_B, metrics);
  metrics.show_advantages(kept, plans, advantage_B, tokens);

  std::vector<LossTreatment> treatments;
  if (inspection != nullptr) inspection->before_update(ranks_, model_, {kept, number_B, plans, advantage_B, tokens});
  metrics.take(policy_update_.run(kept, plans, advantage_B, tokens, inspection != nullptr ? &treatments : nullptr),
               components_.loss.name());
  if (inspection != nullptr) inspection->after_update(ranks_, model_, std::move(treatments));
}

/// Numbers of the responses that are trained on, group by group; undefined: none is.
at::Tensor PolicyTraining::choose_responses(std::int64_t step, const Trajectories& written,
                                            const ScoredResponses& scored, StepMetrics& metrics) const {
  GroupFilterInput input;
  input.rewards_B = scored.reward_B;
  input.solved_B = at::tensor(scored.solved, at::kLong);
  input.steps_B = written.forwards_B;
  input.group_size = train_.group_size;
  input.random = random_.child("filter");
  input.step = step;
  // Without a live group there is nothing to learn, and an optimizer step would still move the weights by momentum and
  // decay.
  const auto live = kept_groups(input, {true, 0, GroupFill::kNone});
  auto groups = live.empty() ? live : kept_groups(input, filter_);
  if (!live.empty()) {
    for (const std::int64_t unjudged : scored.unjudged_groups) std::erase(groups, unjudged);
  }
  metrics.record.live_groups = std::ssize(live);
  metrics.record.kept_groups = std::ssize(groups);
  return groups.empty() ? at::Tensor() : responses_of(groups, train_.group_size);
}

/// One plan for all inner iterations, or one for each, as the strategy requires.
std::vector<MaskPlan> PolicyTraining::draw_plans(std::int64_t step, const Trajectories& kept,
                                                 const at::Tensor& number_B) const {
  const bool redraws = checked_refresh(*components_.masking) == PlanRefresh::kEachInnerIteration;
  std::vector<MaskPlan> plans;
  for (std::int64_t j = 0; j < (redraws ? train_.inner_iterations : 1); ++j) {
    plans.push_back(
        draw_plan(*components_.masking, kept, model_.traits(), {random_.child("masking"), step, number_B, j}));
  }
  return plans;
}

/// For each plan; empty: tokens have no advantages of their own. Trains the value model, if there is one.
std::vector<TokenAdvantages> PolicyTraining::token_advantages(std::int64_t step, const Trajectories& kept,
                                                              const std::vector<MaskPlan>& plans,
                                                              const at::Tensor& advantage_B, StepMetrics& metrics) {
  const auto weights_BL = correct(kept, plans, metrics);
  auto tokens = ask_value_model(step, kept, plans, advantage_B, metrics);
  if (tokens.empty() && !weights_BL.empty()) tokens.resize(plans.size(), {advantage_B.unsqueeze(1), {}, {}});
  for (std::size_t p = 0; p < weights_BL.size(); ++p) tokens[p].advantage_BL = tokens[p].advantage_BL * weights_BL[p];
  return tokens;
}

std::vector<TokenAdvantages> PolicyTraining::ask_value_model(std::int64_t step, const Trajectories& kept,
                                                             const std::vector<MaskPlan>& plans,
                                                             const at::Tensor& advantage_B, StepMetrics& metrics) {
  if (!components_.value) return {};
  const PhaseTimer timer;
  ValueModel& model = *components_.value;
  std::vector<TokenAdvantages> tokens;
  for (const MaskPlan& plan : plans)
    tokens.push_back(generalised_advantages(plan, model.estimate(kept, plan), advantage_B, model.settings().discount));
  metrics.record.value_explained_variance = explained_variance(tokens.front(), plans.front());
  if ((step - 1) % model.settings().every == 0) {
    if (train_.restarts_optimizer) model.restart_optimizer();
    double loss = 0;
    for (std::size_t p = 0; p < plans.size(); ++p) loss += model.train(kept, plans[p], tokens[p]);
    metrics.record.value_loss = loss / static_cast<double>(plans.size());
  }
  metrics.record.seconds->value = timer.seconds();
  return tokens;
}

/// For each plan, what the advantages of tokens are multiplied by; empty: nothing is corrected.
std::vector<at::Tensor> PolicyTraining::correct(const Trajectories& kept, const std::vector<MaskPlan>& plans,
                                                StepMetrics& metrics) const {
  if (!algorithm_.corrects_rollout) return {};
  const PhaseTimer timer;
  std::vector<RolloutCorrection> corrections;
  std::vector<at::Tensor> weights_BL;
  for (const MaskPlan& plan : plans) {
    corrections.push_back(rollout_correction(ranks_, model_, kept, plan, algorithm_.rollout_correction_cap));
    if (corrections.back().tokens == 0) {
      throw Error("algorithm.rollout_correction: the masking strategy `" + components_.masking.name() +
                      "` scores no token in the state that committed it, so that there is nothing to compare",
                  "choose one that scores states of the response's own denoising steps (docs/models.md names them), "
                  "or set algorithm.rollout_correction = \"none\"");
    }
    weights_BL.push_back(corrections.back().weight_BL);
  }
  metrics.take(corrections);
  metrics.record.seconds->old = timer.seconds();
  return weights_BL;
}

}  // namespace drift
