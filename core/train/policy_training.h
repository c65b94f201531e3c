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
#include <core/train/training.h>
#include <core/update/policy_update.h>
#include <core/update/reference_policy.h>
#include <core/update/value_model.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// The parts of policy training, besides the policy.
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
  PolicyTraining(const RunConfig& config, const Model& model, const PromptEncoder& prompts,
                 PolicyComponents components);

  StepRecord run(std::int64_t step) override;
  std::vector<NamedTensor> state() const override;
  std::vector<TensorPart> state_parts() const override;
  void load_state(const std::vector<NamedTensor>& state) override;

 private:
  struct Scored;
  Scored roll_out(std::int64_t step, StepRecord& metrics) const;
  void score(Scored& scored, StepRecord& metrics) const;
  std::vector<std::int64_t> choose_groups(std::int64_t step, const Scored& scored, StepRecord& metrics) const;
  /// @param inspection  null: the step is not inspected
  void update(std::int64_t step, const Scored& scored, StepRecord& metrics, StepInspection* inspection);
  /// For each plan; empty: tokens have no advantages of their own. Trains the value model, if there is one.
  std::vector<TokenAdvantages> token_advantages(std::int64_t step, const Trajectories& kept,
                                                const std::vector<MaskPlan>& plans, const at::Tensor& advantage_B,
                                                StepRecord& metrics);
  std::vector<TokenAdvantages> ask_value_model(std::int64_t step, const Trajectories& kept,
                                               const std::vector<MaskPlan>& plans, const at::Tensor& advantage_B,
                                               StepRecord& metrics);
  /// For each plan, what the advantages of tokens are multiplied by; empty: nothing is corrected.
  std::vector<at::Tensor> correct(const Trajectories& kept, const std::vector<MaskPlan>& plans,
                                  StepRecord& metrics) const;
  void take(const UpdateResult& result, StepRecord& metrics) const;
  /// What programs that watch the run show of it, if there are any.
  void show(const Scored& scored, StepRecord& metrics) const;
  void show(const std::string& name, const at::Tensor& values, StepRecord& metrics) const;
  std::vector<MaskPlan> draw_plans(std::int64_t step, const Trajectories& kept,
                                   const at::Tensor& response_number) const;

  const Model& model_;
  const PromptEncoder& prompts_;
  PolicyComponents components_;
  Optimizer optimizer_;
  PolicyUpdate policy_update_;
  RandomStream random_;
  AdvantageSettings advantage_;
  GroupFilterSettings filter_;
  RewardSettings score_;
  InspectionSettings inspect_;
  ReportSettings tracking_;
  std::int64_t prompts_per_step_, group_size_, inner_iterations_, gap_responses_;
  double correction_cap_ = 0;  // 0: no correction
  bool restarts_optimizer_;
};

}  // namespace drift
