#pragma once

// How the core calls the components of plugins: each function makes one call, under the plugin's name, and checks what
// comes back. A component of the core itself is called as it is. The getters of a model are checked once, when it is
// made (made.h).

#include <drift/cached_forward.h>
#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>
#include <drift/trajectories.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace drift {

// All throw a PluginError if the component throws, or gives back what it must not.

Coupling checked_coupling(const LossEstimator& loss);
LossNeeds checked_needs(const LossEstimator& loss);
Loss checked_loss(const LossEstimator& loss, const LossInput& input);

PlanRefresh checked_refresh(const MaskingStrategy& strategy);
MaskPlan checked_plan(const MaskingStrategy& strategy, const MaskingInput& input);

/// A reason that is not UTF-8 has its bytes replaced, with one warning for each reward.
RewardResult checked_verdict(const Reward& reward, const RewardRequest& request);

std::int64_t checked_response_length(const Rollout& rollout);
/// Not checked if it was cancelled. Valid tokens are those up to a response's end, if the rollout is Taken::kUntilEnd.
Trajectories checked_trajectories(const Rollout& rollout, const RolloutInput& input);
/// As RolloutCostEstimate::estimate_cost; none, if the rollout does not know its cost.
std::optional<RolloutCost> checked_cost(const Rollout& rollout, const Model& model, std::int64_t prompt_length,
                                        std::int64_t responses, bool on_cpu);

TaskItem checked_training_item(const Task& task, std::int64_t index, const RandomStream& random);
std::int64_t checked_held_out_size(const Task& task);
TaskItem checked_held_out_item(const Task& task, std::int64_t index);
/// None, if the task has no TrainingList; the others need one.
std::optional<std::int64_t> checked_training_size(const Task& task);
TaskItem checked_listed_item(const Task& task, std::int64_t index);
void checked_keep(Task& task, const std::vector<std::int64_t>& indices);

at::Tensor checked_forward(const Model& model, const ForwardInput& input);
void checked_initialize(Model& model, const RandomStream& random);
std::int64_t checked_bytes_per_row(const Model& model, std::int64_t sequence);
/// Null, if the model has no CachedForward; a forward needs one.
std::unique_ptr<KeyValueCache> checked_cache(const Model& model, std::int64_t rows, std::int64_t positions);
at::Tensor checked_window(const Model& model, const ForwardInput& input, const CacheWindow& window,
                          KeyValueCache& cache);

}  // namespace drift
