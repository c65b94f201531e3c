#include <core/train/training_plan.h>

#include <core/base/adapters.h>
#include <core/boundary/checked.h>
#include <core/rollout/held_out_split.h>
#include <core/train/training_task.h>
#include <core/update/policy_scores.h>
#include <core/update/policy_update.h>
#include <core/update/update_passes.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <numeric>

namespace drift {
namespace {

constexpr std::int64_t kMostPromptsLookedAt = 512;

PromptLengths measure(const std::vector<TaskItem>& items, const PromptEncoder& prompts) {
  PromptLengths lengths;
  for (const TaskItem& item : items) {
    const auto tokens = static_cast<std::int64_t>(prompts.ids(item).size());
    lengths.longest = std::max(lengths.longest, tokens);
    lengths.mean += static_cast<double>(tokens);
  }
  lengths.prompts = static_cast<std::int64_t>(items.size());
  lengths.mean /= static_cast<double>(std::max<std::int64_t>(1, lengths.prompts));
  return lengths;
}

/// Tokens differ between positions and responses, as in what a model writes, and none of them is special. Each of the
/// `forwards` commits as many of them.
Trajectories imagine(const Prompts& prompts, std::int64_t length, std::int64_t forwards, const ModelTraits& traits) {
  const std::int64_t responses = prompts.tokens_BP.size(0);
  Trajectories imagined;
  imagined.prompts = prompts;
  imagined.tokens_BL = at::arange(responses * length, at::kLong)
                           .view({responses, length})
                           .remainder(std::max<std::int64_t>(1, traits.vocabulary_size / 2));
  const auto special_BL = ends_response(imagined.tokens_BL, traits).logical_or(imagined.tokens_BL == traits.mask_id);
  imagined.tokens_BL.masked_fill_(special_BL, traits.vocabulary_size / 2 + 1);
  imagined.valid_BL = at::ones({responses, length}, at::kBool);
  const auto step_L = at::arange(length, at::kLong).mul(forwards).div(length, "floor").to(at::kInt);
  imagined.step_BL = step_L.expand({responses, length}).contiguous();
  imagined.commit_logprob_BL = at::full({responses, length}, -0.7, at::kFloat);
  imagined.forwards_B = at::full({responses}, forwards, at::kLong);
  return imagined;
}

class UpdatePlanner {
 public:
  /// @param largest  takes the rows and scored tokens of the largest optimizer step
  UpdatePlanner(const RunConfig& config, const Model& shapes, const PolicyComponents& components, const Sharding& ranks,
                MemoryWork& largest)
      : config_(config), model_(shapes), components_(components), ranks_(ranks.count), largest_(largest) {}

  UpdateCost plan(const Trajectories& imagined) {
    const auto inner_iterations = config_.get<TrainSettings>().inner_iterations;
    const bool redraws = checked_refresh(*components_.masking) == PlanRefresh::kEachInnerIteration;
    UpdateCost all, one;
    for (std::int64_t j = 0; j < inner_iterations; ++j) {
      const bool repeats = j > 0 && !redraws;
      if (!repeats) one = cost(imagined, draw(imagined, j), j == 0);
      all.optimizer_steps += one.optimizer_steps;
      all.backward_rows += one.backward_rows;
      all.passes += one.passes;
      if (repeats) {  // the other scores of these views are there already
        all.forward_rows += one.backward_rows * (one.scores_first ? 2 : 1);
        continue;
      }
      all.views += one.views;
      all.row_tokens = std::max(all.row_tokens, one.row_tokens);
      all.scored_tokens += one.scored_tokens;
      all.forward_rows += one.forward_rows;
      all.recomputes = all.recomputes || one.recomputes;
      all.scores_first = all.scores_first || one.scores_first;
      if (has_value_model(config_)) {  // once for each plan: estimates, then its update
        all.backward_rows += one.backward_rows;
        all.forward_rows += 2 * one.backward_rows;
      }
    }
    return all;
  }

 private:
  MaskPlan draw(const Trajectories& imagined, std::int64_t inner_iteration) const {
    return draw_plan(*components_.masking, imagined, model_.traits(),
                     {.random = run_stream(config_).child("masking"), .step = 1, .inner_iteration = inner_iteration});
  }

  /// @param first  of the inner iterations: the policy that wrote the responses is still the one that learns
  UpdateCost cost(const Trajectories& imagined, const MaskPlan& plan, bool first) {
    const auto train = config_.get<TrainSettings>();
    const bool has_reference = largest_.needs.reference && config_.get<ReferenceSettings>().kind != ReferenceKind::kOld;
    const std::int64_t text = imagined.prompts.tokens_BP.size(1) + imagined.tokens_BL.size(1);
    const std::int64_t budget = train.memory_budget;
    const Coupling coupling = checked_coupling(*components_.loss);
    UpdateCost cost;
    cost.views = plan.response_F.size(0);
    cost.scored_tokens = plan.target_FL.sum().item<std::int64_t>();
    for (const Views& views : views_of_steps(plan, coupling, train.views_per_update)) {
      const MaskPlan of_step = select_views(plan, views, at::kCPU);
      const std::int64_t rows =
          ViewRows(Ranks(), model_.traits(), imagined, of_step, all_views(of_step), kTokensPerForward).count();
      const std::int64_t sequence = row_tokens(model_.traits(), imagined, of_step);
      const auto scored = of_step.target_FL.sum().item<std::int64_t>();
      largest_.copied_tokens = std::max(largest_.copied_tokens, sequence - text);
      largest_.rows = std::max(largest_.rows, rows);
      cost.row_tokens = std::max(cost.row_tokens, sequence);
      largest_.scored_tokens = std::max(largest_.scored_tokens, scored);
      bool scores_first = false;
      const UpdateMemory memory = divide_memory(model_, sequence, scored, budget);
      for (const UpdatePass& pass : plan_passes(of_step, coupling, memory, ranks_)) {
        cost.recomputes = cost.recomputes || pass.recompute;
        scores_first = scores_first || pass.scores_first;
        ++cost.passes;
      }
      cost.scores_first = cost.scores_first || scores_first;
      ++cost.optimizer_steps;
      cost.backward_rows += rows;
      cost.forward_rows += rows * (1 + (scores_first ? 1 : 0) + (first ? 0 : 1) + (has_reference ? 1 : 0));
      first = false;
    }
    return cost;
  }

  const RunConfig& config_;
  const Model& model_;
  const PolicyComponents& components_;
  std::int64_t ranks_;
  MemoryWork& largest_;
};

/// On disk: weights, master weights and moments. With adapters the frozen weights are not saved again.
void plan_checkpoints(const RunConfig& config, const Model& shapes, TrainingPlan& plan) {
  const TrainedSizes trained(shapes);
  plan.trained = trained.elements;
  plan.checkpoint_bytes = trained.masters + trained.moment_bytes(config);
  for (const NamedTensor& one : has_adapter(config) ? adapter_parameters(shapes) : shapes.parameters())
    plan.checkpoint_bytes += static_cast<std::int64_t>(one.tensor.nbytes());
  const auto train = config.get<TrainSettings>();
  plan.checkpoints = train.keep_checkpoints + (train.keep_best ? 1 : 0);
}

void plan_evaluations(const RunConfig& config, const Loaded<Task>& task, TrainingPlan& plan) {
  if (!config.has("evaluation.rollout")) return;
  const auto evaluation = config.get<EvaluationSettings>();
  const HeldOutSplit split = HeldOutSplit::of(evaluation, checked_held_out_size(*task));
  plan.held_out_items = split.validation + split.items;
  if (plan.held_out_items == 0) return;
  const std::int64_t every = evaluation.every;
  plan.evaluations = (evaluation.before ? 1 : 0) + (every == 0 ? 1 : (plan.steps + every - 1) / every);
}

}  // namespace

TrainingPlan plan_training(const RunConfig& config, const Model& shapes, const PromptEncoder& prompts,
                           const PolicyComponents& components, const Rollout* evaluation, const Sharding& ranks) {
  const auto train = config.get<TrainSettings>();
  TrainingPlan plan;
  plan.parameters = parameter_count(shapes);
  plan.steps = train.steps;
  plan.prompts_per_step = train.prompts_per_step;
  plan.group_size = train.group_size;
  plan.response_length = checked_response_length(*components.rollout);

  const std::int64_t looked_at =
      std::max(plan.prompts_per_step, std::min(kMostPromptsLookedAt, plan.steps * plan.prompts_per_step));
  auto items = draw_items(*components.task, 0, looked_at, run_stream(config).child("task"));
  plan.prompt_lengths = measure(items, prompts);
  const bool on_cpu = config.get<RunSettings>().on_cpu();
  const auto cost = checked_cost(*components.rollout, shapes, plan.prompt_lengths.longest, plan.responses(), on_cpu);
  plan.rollout_is_known = cost.has_value();
  if (cost) plan.rollout = *cost;

  MemoryWork work;
  work.needs = checked_needs(*components.loss);
  items.resize(static_cast<std::size_t>(plan.prompts_per_step));
  const std::int64_t forwards = plan.rollout_is_known
                                    ? std::clamp<std::int64_t>(plan.rollout.most_forwards, 1, plan.response_length)
                                    : plan.response_length;
  plan.update = UpdatePlanner(config, shapes, components, ranks, work)
                    .plan(imagine(prompts.encode(items, plan.group_size, plan.response_length), plan.response_length,
                                  forwards, shapes.traits()));
  plan_evaluations(config, components.task, plan);
  plan_checkpoints(config, shapes, plan);

  work.rollout = &*components.rollout;
  work.longest_prompt = plan.prompt_lengths.longest;
  work.response_length = plan.response_length;
  work.responses = plan.responses();
  if (plan.evaluations > 0) {
    const auto settings = config.get<EvaluationSettings>();
    work.evaluation = evaluation;
    work.evaluated_at_once = std::min(settings.batch_size, plan.held_out_items * settings.samples);
  }
  plan.memory = plan_memory(config, shapes, work, ranks);
  return plan;
}

}  // namespace drift
