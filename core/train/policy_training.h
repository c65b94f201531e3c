#pragma once

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/random.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <core/boundary/components.h>
#include <core/config/run_config.h>
#include <core/rollout/judge.h>
#include <core/rollout/prompt_encoder.h>
#include <core/train/advantage.h>
#include <core/train/group_filter.h>
#include <core/train/scored_responses.h>
#include <core/train/step_inspection.h>
#include <core/train/step_metrics.h>
#include <core/train/training.h>
#include <core/update/policy_update.h>
#include <core/update/reference_policy.h>
#include <core/update/value_model.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// What policy training needs besides the policy.
struct PolicyComponents {
  Loaded<Task> task;
  Judge judge;
  Loaded<Rollout> rollout;
  Loaded<MaskingStrategy> masking;
  Loaded<LossEstimator> loss;
  std::optional<ReferencePolicy> reference;  ///< empty unless the loss asks for it
  std::unique_ptr<ValueModel> value;         ///< null unless [value] enables it
};

/// What every random draw of the run is derived from.
RandomStream run_stream(const RunConfig& config);

/// The policy's AdamW.
OptimizerSettings policy_optimizer(const RunConfig& config);

/// One training step: prompts, rollout, rewards, advantages, masks, log-probabilities, loss, optimizer
/// (docs/spec/algorithms.md 1.8).
class PolicyTraining final : public Training {
 public:
  PolicyTraining(Ranks& ranks, RunHost& host, const RunConfig& config, const Model& model, const PromptEncoder& prompts,
                 PolicyComponents components);

  StepRecord run(std::int64_t step) override;
  std::vector<NamedTensor> state() const override;
  std::vector<TensorPart> state_parts() const override;
  void load_state(const std::vector<NamedTensor>& state) override;

 private:
  // What run() does, in its order: step.cpp.
  Trajectories write_responses(std::int64_t step, const std::vector<TaskItem>& items, StepMetrics& metrics) const;
  ScoredResponses score(const std::vector<TaskItem>& items, const Trajectories& written, StepMetrics& metrics) const;
  void update(std::int64_t step, const Trajectories& written, const ScoredResponses& scored, StepMetrics& metrics,
              StepInspection* inspection);
  at::Tensor choose_responses(std::int64_t step, const Trajectories& written, const ScoredResponses& scored,
                              StepMetrics& metrics) const;
  std::vector<MaskPlan> draw_plans(std::int64_t step, const Trajectories& kept, const at::Tensor& number_B) const;
  std::vector<TokenAdvantages> token_advantages(std::int64_t step, const Trajectories& kept,
                                                const std::vector<MaskPlan>& plans, const at::Tensor& advantage_B,
                                                StepMetrics& metrics);
  std::vector<TokenAdvantages> ask_value_model(std::int64_t step, const Trajectories& kept,
                                               const std::vector<MaskPlan>& plans, const at::Tensor& advantage_B,
                                               StepMetrics& metrics);
  std::vector<at::Tensor> correct(const Trajectories& kept, const std::vector<MaskPlan>& plans,
                                  StepMetrics& metrics) const;

  Ranks& ranks_;
  RunHost& host_;
  const Model& model_;
  const PromptEncoder& prompts_;
  PolicyComponents components_;
  Optimizer optimizer_;
  PolicyUpdate policy_update_;
  RandomStream random_;
  TrainSettings train_;
  AlgorithmSettings algorithm_;
  AdvantageSettings advantage_;
  GroupFilterSettings filter_;
  RewardSettings score_;
  ReportSettings report_;
  InspectionSettings inspect_;
};

}  // namespace drift
