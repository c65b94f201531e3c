#pragma once

// Components that stand for a plugin's. A proxy calls the plugin's object through in_plugin(), detects changes to
// borrowed tensors, and validates results. The core sees no others.

#include <core/boundary/plugin_call.h>

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/registry.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <memory>

namespace drift {

std::unique_ptr<LossEstimator> guarded(std::unique_ptr<LossEstimator> plugin, const Callee& callee);
std::unique_ptr<MaskingStrategy> guarded(std::unique_ptr<MaskingStrategy> plugin, const Callee& callee);
std::unique_ptr<Reward> guarded(std::unique_ptr<Reward> plugin, const Callee& callee);
/// @param drops_after_end  as `after_end` of [rollout] has it
std::unique_ptr<Rollout> guarded(std::unique_ptr<Rollout> plugin, const Callee& callee, bool drops_after_end = true);
std::unique_ptr<Task> guarded(std::unique_ptr<Task> plugin, const Callee& callee);
/// @throws PluginError if the model is not what it declares, or not what `config` asks for.
std::unique_ptr<Model> guarded(std::unique_ptr<Model> plugin, const Callee& callee, const ModelConfig& config);

/// A component as the core uses it.
/// @param model_config  null for every kind but a model
/// @throws PluginError if it cannot be made.
template <class T>
std::unique_ptr<T> make_guarded(const ComponentEntry& entry, const Params& params,
                                const ModelConfig* model_config = nullptr);

}  // namespace drift
