#include <core/train/policy_training.h>

#include <core/base/component_host.h>
#include <core/base/phase_timer.h>
#include <core/base/trainable.h>
#include <core/boundary/checked.h>
#include <core/boundary/model_policy.h>
#include <core/io/json.h>
#include <core/ranks/ranks.h>
#include <core/rollout/response_text.h>
#include <core/rollout/together.h>
#include <core/train/memory_plan.h>
#include <core/update/rollout_correction.h>
#include <core/update/rollout_gap.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <variant>

namespace drift {
namespace {

/// The first rank alone has a folder.
ReportSettings tracking_settings(const RunConfig& config) {
  return run_ranks().is_first() ? config.get<ReportSettings>() : ReportSettings();
}

PolicyUpdateSettings update_settings(const RunConfig& config) {
  const auto section = config.get<TrainSettings>();
  PolicyUpdateSettings settings;
  settings.group_size = section.group_size;
  settings.inner_iterations = section.inner_iterations;
  settings.views_per_update = section.views_per_update;
  settings.memory_budget = section.memory_budget;
  settings.shard = shard_of(config);
  settings.keep_logprobs = tracking_settings(config).tensorboard;
  if (drops_inputs(config)) settings.dropout = run_stream(config).child("adapter dropout");
  return settings;
}

double variance(const at::Tensor& numbers) { return numbers.sub(numbers.mean()).square().mean().item<double>(); }

/// Of the returns of the scored tokens, what the estimates before the update foresaw.
double explained_variance(const TokenAdvantages& tokens, const MaskPlan& plan) {
  const auto scored_BL = scored_tokens(plan, tokens.value_BL.size(0));
  const auto return_E = tokens.return_BL.masked_select(scored_BL), value_E = tokens.value_BL.masked_select(scored_BL);
  const double of_returns = variance(return_E);
  return of_returns > 0 ? 1 - variance(return_E - value_E) / of_returns : kUnknown;
}

// Constant texts: a warning is counted over the run by its text.
constexpr const char* kNoGroupKept = "no group is left after [filter]; the optimizer step is skipped";

}  // namespace

RandomStream run_stream(const RunConfig& config) {
  return RandomStream(config.get<RunSettings>().seed, "train");
}

OptimizerSettings policy_optimizer(const RunConfig& config) {
  const auto train = config.get<TrainSettings>();
  return {train.adamw, train.steps * train.inner_iterations, config.get<RunSettings>().seed,
          shard_of(config) != Shard::kNone};
}

/// A rollout and what the reward says of it.
struct PolicyTraining::Scored : ScoredResponses {
  std::vector<TaskItem> items;  // one a group
  Trajectories trajectories;
};

PolicyTraining::PolicyTraining(const RunConfig& config, const Model& model, const PromptEncoder& prompts,
                               PolicyComponents components)
    : model_(model),
      prompts_(prompts),
      components_(std::move(components)),
      optimizer_(trainable_parameters(model), policy_optimizer(config), weight_shares(model)),
      policy_update_(model, components_.loss, components_.reference ? &*components_.reference : nullptr, optimizer_,
                     update_settings(config)),
      random_(run_stream(config)),
      advantage_(config.get<AdvantageSettings>()),
      filter_(config.get<GroupFilterSettings>()),
      score_(config.get<RewardSettings>()),
      inspect_(InspectionSettings::from(config)),
      tracking_(tracking_settings(config)) {
  const auto train = config.get<TrainSettings>();
  prompts_per_step_ = train.prompts_per_step;
  group_size_ = train.group_size;
  inner_iterations_ = train.inner_iterations;
  restarts_optimizer_ = train.restarts_optimizer;
  gap_responses_ = train.gap_responses;
  const auto algorithm = config.get<AlgorithmSettings>();
  if (algorithm.corrects_rollout) correction_cap_ = algorithm.rollout_correction_cap;
}

std::vector<NamedTensor> PolicyTraining::state() const {
  auto state = optimizer_.state();
  if (components_.reference) {
    for (NamedTensor& tensor : components_.reference->state()) state.push_back(std::move(tensor));
  }
  if (components_.value) {
    for (NamedTensor& tensor : components_.value->state()) state.push_back(std::move(tensor));
  }
  return state;
}

std::vector<TensorPart> PolicyTraining::state_parts() const {
  auto parts = optimizer_.state_parts();
  if (components_.reference) {
    for (TensorPart& part : components_.reference->state_parts()) parts.push_back(std::move(part));
  }
  return parts;
}

void PolicyTraining::load_state(const std::vector<NamedTensor>& state) {
  optimizer_.load_state(state);
  if (components_.reference) components_.reference->load_state(state);
  if (components_.value) components_.value->load_state(state);
}

StepRecord PolicyTraining::run(std::int64_t step) {
  const PhaseTimer timer;
  StepRecord metrics;
  metrics.step = step;
  metrics.seconds.emplace();
  metrics.learning_rate = optimizer_.learning_rate();
  const Scored scored = roll_out(step, metrics);
  std::optional<StepInspection> inspection;
  if (inspect_.is_due(step)) inspection.emplace(step, group_size_, inspect_);
  update(step, scored, metrics, inspection ? &*inspection : nullptr);
  if (inspection && run_ranks().is_first())
    metrics.inspection =
        json_text(inspection->to_json({scored.items, scored.trajectories, scored, components_.judge, prompts_}));
  metrics.plugin_metrics.merge(take_component_metrics(run_ranks()));
  metrics.seconds->total = timer.seconds();
  return metrics;
}

PolicyTraining::Scored PolicyTraining::roll_out(std::int64_t step, StepRecord& metrics) const {
  const PhaseTimer rollout_timer;
  const auto task_random = random_.child("task");
  Scored scored;
  scored.items.resize(static_cast<std::size_t>(prompts_per_step_));
  for (std::int64_t i = 0; i < prompts_per_step_; ++i) {
    scored.items[static_cast<std::size_t>(i)] =
        checked_training_item(*components_.task, (step - 1) * prompts_per_step_ + i, task_random);
  }
  RolloutInput input;
  const ModelPolicy policy(model_);
  input.policy = &policy;
  input.random = random_.child("rollout");
  input.step = step;
  {
    const at::NoGradGuard no_gradient;
    input.prompts = prompts_.encode(scored.items, group_size_, checked_response_length(*components_.rollout));
    generate_together(*components_.rollout, model_, input, scored.trajectories);
  }
  metrics.seconds->rollout = rollout_timer.seconds();
  const auto gap = rollout_gap(model_, scored.trajectories, gap_responses_, random_.child("gap"), step);
  metrics.rollout_gap = gap.mean;
  metrics.rollout_gap_max = gap.largest;

  const PhaseTimer reward_timer;
  score(scored, metrics);
  metrics.seconds->reward = reward_timer.seconds();
  show(scored, metrics);

  const std::int64_t responses = prompts_per_step_ * group_size_;
  const double tokens = scored.trajectories.valid_BL.sum().item<double>();
  std::int64_t solved = 0;
  for (const std::int64_t one : scored.solved) solved += one;
  metrics.groups = prompts_per_step_;
  metrics.reward = scored.reward_B.mean().item<double>();
  metrics.solved = static_cast<double>(solved) / static_cast<double>(responses);
  metrics.response_length = tokens / static_cast<double>(responses);
  metrics.forwards_per_response = scored.trajectories.forwards_B.to(at::kDouble).mean().item<double>();
  metrics.tokens_per_second = tokens / metrics.seconds->rollout;
  const auto logprob_BL = scored.trajectories.commit_logprob_BL.mul(scored.trajectories.valid_BL);
  if (tokens > 0) metrics.token_surprisal = -logprob_BL.sum(at::kDouble).item<double>() / tokens;
  return scored;
}

void PolicyTraining::score(Scored& scored, StepRecord& metrics) const {
  static_cast<ScoredResponses&>(scored) = score_responses(scored.items, scored.trajectories, group_size_,
                                                          components_.judge, prompts_, model_.traits(), score_);
  metrics.same_responses = scored.same_responses;
  const auto& labels = components_.judge.labels();
  for (std::size_t r = 0; labels.size() > 1 && r < labels.size(); ++r) {
    double sum = 0;
    for (const Judgement& judgement : scored.judgements) sum += judgement.parts[r].value;
    metrics.reward_parts[labels[r]] = sum / static_cast<double>(scored.judgements.size());
  }
}

std::vector<std::int64_t> PolicyTraining::choose_groups(std::int64_t step, const Scored& scored,
                                                        StepRecord& metrics) const {
  GroupFilterInput input;
  input.rewards_B = scored.reward_B;
  input.solved_B = at::tensor(scored.solved, at::kLong);
  input.steps_B = scored.trajectories.forwards_B;
  input.group_size = group_size_;
  input.random = random_.child("filter");
  input.step = step;
  metrics.live_groups = static_cast<std::int64_t>(kept_groups(input, {true, 0, GroupFill::kNone}).size());
  // Without a live group there is nothing to learn, and an optimizer step would still move the weights by momentum and
  // decay.
  if (metrics.live_groups == 0) return {};
  auto groups = kept_groups(input, filter_);
  for (const std::int64_t unjudged : scored.unjudged_groups) std::erase(groups, unjudged);
  return groups;
}

void PolicyTraining::update(std::int64_t step, const Scored& scored, StepRecord& metrics, StepInspection* inspection) {
  const auto groups = choose_groups(step, scored, metrics);
  metrics.kept_groups = static_cast<std::int64_t>(groups.size());
  metrics.skipped = groups.empty();
  if (metrics.skipped) {
    if (*metrics.live_groups > 0) metrics.warnings.push_back(kNoGroupKept);  // else it is an alarm
    return;
  }

  std::vector<at::Tensor> numbers;
  for (const std::int64_t group : groups) {
    numbers.push_back(at::arange(group * group_size_, (group + 1) * group_size_, at::kLong));
  }
  const auto response_number = at::cat(numbers);
  const auto kept = select_responses(scored.trajectories, response_number);
  const auto plans = draw_plans(step, kept, response_number);
  metrics.skipped = plans.front().response_F.size(0) == 0;
  if (metrics.skipped) {
    metrics.warnings.push_back("the masking strategy `" + components_.masking.name() + "` gives no views of " +
                               "these responses; there is nothing to learn, the optimizer step is skipped");
    return;
  }

  const auto advantage_B = advantages(scored.reward_B.index_select(0, response_number), group_size_, advantage_);
  if (restarts_optimizer_) optimizer_.restart();
  const auto tokens = token_advantages(step, kept, plans, advantage_B, metrics);
  show("advantages", advantage_B, metrics);
  for (std::size_t p = 0; tracking_.tensorboard && p < tokens.size(); ++p)
    show(
        "token_advantages",
        tokens[p].advantage_BL.expand_as(kept.tokens_BL).masked_select(scored_tokens(plans[p], kept.tokens_BL.size(0))),
        metrics);
  if (inspection == nullptr) return take(policy_update_.run(kept, plans, advantage_B, tokens), metrics);
  inspection->before_update(model_, {kept, response_number, plans, advantage_B, tokens});
  std::vector<LossTreatment> treatments;
  take(policy_update_.run(kept, plans, advantage_B, tokens, &treatments), metrics);
  inspection->after_update(model_, std::move(treatments));
}

std::vector<TokenAdvantages> PolicyTraining::token_advantages(std::int64_t step, const Trajectories& kept,
                                                              const std::vector<MaskPlan>& plans,
                                                              const at::Tensor& advantage_B, StepRecord& metrics) {
  const auto weights_BL = correct(kept, plans, metrics);
  auto tokens = ask_value_model(step, kept, plans, advantage_B, metrics);
  if (tokens.empty() && !weights_BL.empty()) tokens.resize(plans.size(), {advantage_B.unsqueeze(1), {}, {}});
  for (std::size_t p = 0; p < weights_BL.size(); ++p) tokens[p].advantage_BL = tokens[p].advantage_BL * weights_BL[p];
  return tokens;
}

std::vector<TokenAdvantages> PolicyTraining::ask_value_model(std::int64_t step, const Trajectories& kept,
                                                             const std::vector<MaskPlan>& plans,
                                                             const at::Tensor& advantage_B, StepRecord& metrics) {
  if (!components_.value) return {};
  const PhaseTimer timer;
  ValueModel& model = *components_.value;
  std::vector<TokenAdvantages> tokens;
  for (const MaskPlan& plan : plans)
    tokens.push_back(generalised_advantages(plan, model.estimate(kept, plan), advantage_B, model.settings().discount));
  metrics.value_explained_variance = explained_variance(tokens.front(), plans.front());
  if ((step - 1) % model.settings().every == 0) {
    if (restarts_optimizer_) model.restart_optimizer();
    double loss = 0;
    for (std::size_t p = 0; p < plans.size(); ++p) loss += model.train(kept, plans[p], tokens[p]).loss;
    metrics.value_loss = loss / static_cast<double>(plans.size());
  }
  metrics.seconds->value = timer.seconds();
  return tokens;
}

std::vector<at::Tensor> PolicyTraining::correct(const Trajectories& kept, const std::vector<MaskPlan>& plans,
                                                StepRecord& metrics) const {
  if (correction_cap_ == 0) return {};
  const PhaseTimer timer;
  std::vector<at::Tensor> weights_BL;
  double sum = 0, tokens = 0, capped = 0, rows = 0;
  for (const MaskPlan& plan : plans) {
    const auto correction = rollout_correction(model_, kept, plan, correction_cap_);
    if (correction.tokens == 0) {
      throw Error("algorithm.rollout_correction: the masking strategy `" + components_.masking.name() +
                      "` scores no token in the state that committed it, so that there is nothing to compare",
                  "choose one that scores states of the response's own denoising steps (docs/models.md names them), "
                  "or set algorithm.rollout_correction = \"none\"");
    }
    weights_BL.push_back(correction.weight_BL);
    sum += correction.weight_sum;
    tokens += static_cast<double>(correction.tokens);
    capped += static_cast<double>(correction.capped);
    rows += static_cast<double>(correction.rows);
  }
  metrics.rollout_weight = sum / tokens;
  metrics.rollout_capped = capped / tokens;
  metrics.update_forwards_per_response = rows / static_cast<double>(prompts_per_step_ * group_size_);
  metrics.seconds->old = timer.seconds();
  return weights_BL;
}

void PolicyTraining::take(const UpdateResult& result, StepRecord& metrics) const {
  const auto responses = static_cast<double>(prompts_per_step_ * group_size_);
  metrics.loss = result.loss;
  metrics.grad_norm = result.gradient_norm;
  metrics.loss_metrics = result.metrics;
  if (!result.has_gradient)
    metrics.warnings.push_back("the loss `" + components_.loss.name() +
                               "` has no gradient, though advantages differ; nothing is learned from these responses");
  const double before = std::isnan(metrics.update_forwards_per_response) ? 0 : metrics.update_forwards_per_response;
  metrics.update_forwards_per_response = before + static_cast<double>(result.forward_rows) / responses;
  metrics.update_backwards_per_response = static_cast<double>(result.backward_rows) / responses;
  metrics.two_pass = result.two_pass;
  metrics.seconds->old += result.old_seconds;
  metrics.seconds->reference = result.reference_seconds;
  metrics.seconds->update = result.gradient_seconds;
  for (const at::Tensor& logprob : result.logprobs) show("log_probabilities", logprob, metrics);
}

void PolicyTraining::show(const Scored& scored, StepRecord& metrics) const {
  if (!tracking_.tensorboard) return;
  const Trajectories& responses = scored.trajectories;
  show("rewards", scored.reward_B, metrics);
  show("rollout_log_probabilities", responses.commit_logprob_BL.masked_select(responses.valid_BL), metrics);
  // The first response of every group, then the second ones.
  for (std::int64_t n = 0; n < std::min(tracking_.samples, prompts_per_step_ * group_size_); ++n) {
    const std::int64_t item = n % prompts_per_step_, b = item * group_size_ + n / prompts_per_step_;
    metrics.samples.push_back({scored.items[static_cast<std::size_t>(item)].prompt,
                               response_text(responses, b, prompts_.tokenizer()), scored.reward_B[b].item<double>(),
                               scored.solved[static_cast<std::size_t>(b)] != 0});
  }
}

void PolicyTraining::show(const std::string& name, const at::Tensor& values, StepRecord& metrics) const {
  if (!tracking_.tensorboard) return;
  const auto numbers = values.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* const first = numbers.const_data_ptr<double>();
  std::vector<double>& all = metrics.distributions[name];
  all.insert(all.end(), first, first + numbers.numel());
}

/// One plan for all inner iterations, or one for each, as the strategy requires.
std::vector<MaskPlan> PolicyTraining::draw_plans(std::int64_t step, const Trajectories& kept,
                                                 const at::Tensor& response_number) const {
  const bool redraws = checked_refresh(*components_.masking) == PlanRefresh::kEachInnerIteration;
  std::vector<MaskPlan> plans;
  for (std::int64_t j = 0; j < (redraws ? inner_iterations_ : 1); ++j) {
    plans.push_back(
        draw_plan(*components_.masking, kept, model_.traits(), {random_.child("masking"), step, response_number, j}));
  }
  return plans;
}

}  // namespace drift
