#pragma once

#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/trajectories.h>

#include <core/boundary/components.h>
#include <core/config/run_config.h>
#include <core/io/safetensors.h>
#include <core/update/generalised_advantages.h>
#include <core/update/optimizer.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

struct ValueSettings : ValueModelSettings {
  std::int64_t views_per_update = 0;  ///< as train.views_per_update
  std::int64_t memory_budget = 0;     ///< bytes
  OptimizerSettings optimizer;

  /// @param config  of a training run with a value model
  /// @param policy  the optimizer of the policy: the value model's is the same but for its learning rate
  static ValueSettings from(const RunConfig& config, const OptimizerSettings& policy);
};

/// Whether a run has one.
bool has_value_model(const RunConfig& config);
/// @throws Error if the run's other settings rule it out.
void check_value_model(const RunConfig& config, std::int64_t ranks);

/// 0.5 max((V - R)^2, (V' - R)^2) with V' = V_old + clamp(V - V_old, -clip, clip), for each element.
at::Tensor clipped_value_loss(const at::Tensor& value, const at::Tensor& old, const at::Tensor& target, double clip);

/// What each target's loss is multiplied by, 0 elsewhere: all views count the same, and add up to their mean.
at::Tensor value_weights(const at::Tensor& target_FL, ValueNorm norm);

/// The critic: a model of the policy's shape with a scalar head in place of the LM head. It reads the value of a token
/// from the hidden state that predicts it. It begins as the run's first model, and its head, without a bias, as 0.
class ValueModel {
 public:
  ValueModel(Ranks& ranks, const ValueSettings& settings, Loaded<Model> model);

  const ValueSettings& settings() const { return settings_; }

  /// Estimates at the targets of each view, 0 elsewhere. float32 at least, [F, L], on the CPU.
  at::Tensor estimate(const Trajectories& trajectories, const MaskPlan& plan) const;

  /// The optimizer steps on one rollout, each view once.
  /// @param tokens  estimates before the first of them, and returns
  /// @return the mean of their losses
  double train(const Trajectories& trajectories, const MaskPlan& plan, const TokenAdvantages& tokens);

  void restart_optimizer() { optimizer_.restart(); }

  /// Weights and optimizer: "value.NAME".
  std::vector<NamedTensor> state() const;
  /// @throws Error if a tensor is missing or misshapen.
  void load_state(const std::vector<NamedTensor>& state);

 private:
  struct Step;
  std::vector<at::Tensor> gradients(const Trajectories& trajectories, const Step& step, double& loss) const;

  Ranks& ranks_;
  ValueSettings settings_;
  Loaded<Model> model_;
  at::Tensor head_H_;
  std::vector<NamedTensor> parameters_;  ///< those of the model that are trained, and the head
  Optimizer optimizer_;
};

}  // namespace drift
