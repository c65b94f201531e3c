#include <core/lab/claims/claim_batch.h>

#include <core/base/phase_timer.h>
#include <core/boundary/checked.h>
#include <core/boundary/model_policy.h>
#include <core/ranks/ranks.h>
#include <core/rollout/together.h>
#include <core/train/group_filter.h>
#include <core/train/training_task.h>
#include <core/update/commit_states.h>
#include <core/update/policy_update.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <vector>

namespace drift {

ClaimBatches::ClaimBatches(RunHost& host, const RunConfig& config, const Model& model, const PromptEncoder& prompts,
                           Loaded<Task> task)
    : model_(model),
      prompts_(prompts),
      task_(std::move(task)),
      judge_(host, config),
      rollout_(create_component<Rollout>(host, config, "rollout")),
      random_(config.get<RunSettings>().seed, "claims"),
      advantage_(config.get<AdvantageSettings>()),
      score_(config.get<RewardSettings>()),
      prompts_per_step_(config.get<TrainSettings>().prompts_per_step),
      group_size_(config.get<TrainSettings>().group_size) {}

ClaimBatch ClaimBatches::draw(std::int64_t number, bool entropies) const {
  const at::NoGradGuard no_gradient;
  const std::vector<TaskItem> items =
      draw_items(*task_, (number - 1) * prompts_per_step_, prompts_per_step_, random_.child("task"));
  const ModelPolicy policy(model_);
  RolloutInput input;
  input.policy = &policy;
  input.random = random_.child("rollout");
  input.step = number;
  input.prompts = prompts_.encode(items, group_size_, checked_response_length(*rollout_));
  Ranks alone;
  ClaimBatch batch;
  batch.number = number;
  batch.groups = prompts_per_step_;
  const PhaseTimer timer;
  generate_together(alone, *rollout_, model_, input, batch.made);
  batch.rollout_seconds = timer.seconds();
  if (entropies) batch.entropy_BL = commit_entropies(alone, model_, batch.made);

  const auto scored = score_responses(alone, items, batch.made, group_size_, judge_, prompts_, model_.traits(), score_);
  GroupFilterInput rewards;
  rewards.rewards_B = scored.reward_B;
  rewards.group_size = group_size_;
  rewards.random = random_.child("filter");
  rewards.step = number;
  auto groups = kept_groups(rewards, {true, 0, GroupFill::kNone});
  for (const std::int64_t unjudged : scored.unjudged_groups) std::erase(groups, unjudged);
  batch.live_groups = std::ssize(groups);
  if (groups.empty()) return batch;
  batch.number_B = responses_of(groups, group_size_);
  batch.kept = select_responses(batch.made, batch.number_B);
  if (entropies) batch.kept_entropy_BL = batch.entropy_BL.index_select(0, batch.number_B);
  batch.advantage_B = advantages(scored.reward_B.index_select(0, batch.number_B), group_size_, advantage_);
  return batch;
}

}  // namespace drift
