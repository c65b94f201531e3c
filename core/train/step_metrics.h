#pragma once

#include <drift/mask_plan.h>
#include <drift/task.h>
#include <drift/trajectories.h>

#include <core/config/training_settings.h>
#include <core/record/step_record.h>
#include <core/train/scored_responses.h>
#include <core/update/generalised_advantages.h>
#include <core/update/policy_update.h>
#include <core/update/rollout_correction.h>
#include <core/update/rollout_gap.h>

#include <string>
#include <vector>

namespace drift {

// A constant text: a warning is counted over the run by its text.
inline constexpr const char* kNoGroupKept = "no group is left after [filter]; the optimizer step is skipped";

/// Fills the record of a training step from what each phase of the step gives.
class StepMetrics {
 public:
  StepMetrics(std::int64_t step, const TrainSettings& train, const ReportSettings& report);

  StepRecord record;

  void take(const RolloutGap& gap);
  /// @param labels  of the rewards
  void take(const Trajectories& written, const ScoredResponses& scored, const std::vector<std::string>& labels);
  void take(const std::vector<RolloutCorrection>& corrections);
  void take(const UpdateResult& result, const std::string& loss);
  /// There is no optimizer step. @param why  a warning; empty: an alarm says it
  void skip(const std::string& why);

  // What programs that watch the run show of the step, if [report] asks for them.
  void show_responses(const std::vector<TaskItem>& items, const Trajectories& written, const ScoredResponses& scored,
                      const Tokenizer& tokenizer);
  void show_advantages(const Trajectories& kept, const std::vector<MaskPlan>& plans, const at::Tensor& advantage_B,
                       const std::vector<TokenAdvantages>& tokens);

 private:
  void show(const std::string& name, const at::Tensor& values);
  double responses() const { return static_cast<double>(train_.prompts_per_step * train_.group_size); }

  const TrainSettings& train_;
  const ReportSettings& report_;
};

}  // namespace drift
