#pragma once

#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/task.h>
#include <drift/trajectories.h>

#include <core/config/run_config.h>
#include <core/ranks/ranks.h>
#include <core/rollout/judge.h>
#include <core/rollout/prompt_encoder.h>
#include <core/train/scored_responses.h>
#include <core/update/policy_update.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// `[report]`: which steps a run keeps for the inspector of its report, and how many groups of each.
struct InspectionSettings {
  std::int64_t every = 0;  ///< 0: none
  std::int64_t groups = 0;
  std::int64_t last_step = 0;

  static InspectionSettings from(const RunConfig& config);
  /// The first step, the last one, and every so many.
  bool is_due(std::int64_t step) const;
};

/// The update of a step, as it goes to PolicyUpdate.
struct InspectedUpdate {
  Trajectories kept;
  at::Tensor response_number_B;  ///< of the kept responses, in the rollout
  std::vector<MaskPlan> plans;
  at::Tensor advantage_B;
  std::vector<TokenAdvantages> tokens;  ///< for each plan, or empty
};

/// What was rolled out, and what the rewards say of it.
struct InspectedRollout {
  const std::vector<TaskItem>& items;  ///< one a group
  const Trajectories& trajectories;
  const ScoredResponses& scored;
  const Judge& judge;
  const PromptEncoder& prompts;
};

/// Some groups of one training step, token by token: inspect/step-NNNNNN.json (docs/runs.md). Nothing that the step
/// computes depends on whether it is inspected: no random number is drawn, and the weights are only read.
class StepInspection {
 public:
  StepInspection(std::int64_t step, std::int64_t group_size, const InspectionSettings& settings)
      : step_(step), group_size_(group_size), most_groups_(settings.groups) {}

  /// Log-probabilities of the scored tokens before the update, and after it. Not called where a step is
  /// skipped. Only views of the groups that are shown are scored.
  void before_update(Ranks& ranks, const Model& model, InspectedUpdate update);
  void after_update(Ranks& ranks, const Model& model, std::vector<LossTreatment> treatments);

  nlohmann::ordered_json to_json(const InspectedRollout& rollout) const;

 private:
  struct PlanScores {
    std::vector<std::int64_t> views;
    at::Tensor before_NL, after_NL;  ///< float32, on the CPU
  };
  std::vector<std::int64_t> kept_groups() const;
  std::vector<std::int64_t> shown_groups(std::int64_t groups) const;
  std::int64_t kept_number(std::int64_t response) const;
  nlohmann::ordered_json group_json(const InspectedRollout& rollout, std::int64_t group) const;
  nlohmann::ordered_json response_json(const InspectedRollout& rollout, std::int64_t response) const;
  void add_update(nlohmann::ordered_json& json, std::int64_t kept, std::size_t shown_tokens) const;
  nlohmann::ordered_json views_json(std::int64_t kept, std::size_t shown_tokens) const;
  std::size_t shown_tokens(const Trajectories& made, std::int64_t response) const;

  std::int64_t step_, group_size_, most_groups_;
  InspectedUpdate update_;
  std::vector<PlanScores> scores_;  ///< for each plan
  std::vector<LossTreatment> treatments_;
};

}  // namespace drift
