#pragma once

#include <drift/loss_estimator.h>
#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/trajectories.h>

#include <core/train/components.h>
#include <core/train/optimizer.h>
#include <core/train/policy_gradient.h>
#include <core/train/reference_policy.h>
#include <core/train/step_record.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace drift {

struct PolicyUpdateSettings {
  std::int64_t group_size = 0;
  std::int64_t inner_iterations = 1;  ///< how often the whole plan is gone through
  std::int64_t views_per_update = 0;  ///< optimizer step after so many views of the plan; 0: after all of them
  std::int64_t memory_budget = 0;     ///< bytes
};

/// The optimizer steps on one rollout.
class PolicyUpdate {
 public:
  PolicyUpdate(const Model& model, const Loaded<LossEstimator>& loss, ReferencePolicy* reference, Optimizer& optimizer,
               const PolicyUpdateSettings& settings);

  /// @param kept         the responses that are trained on.
  /// @param plans        one for all inner iterations, or one for each. Not empty of views.
  /// @param advantage_B  of the kept responses.
  /// @param metrics      gains loss, gradient norm, forwards, seconds and what the loss reports.
  void run(const Trajectories& kept, const std::vector<MaskPlan>& plans, const at::Tensor& advantage_B,
           StepRecord& metrics);

 private:
  struct Part;
  struct Sum;
  std::vector<Part> parts_of(const Trajectories& kept, const MaskPlan& plan, bool unchanged_weights, Sum& sum) const;
  void step(const Trajectories& kept, const at::Tensor& advantage_B, std::int64_t optimizer_steps, Part& part,
            Sum& sum);

  const Model& model_;
  const Loaded<LossEstimator>& loss_;
  ReferencePolicy* reference_;
  Optimizer& optimizer_;
  PolicyUpdateSettings settings_;
  LossNeeds needs_;
};

/// The views of each optimizer step: at least `views_per_update` views in the plan's order, the rest in the last one.
/// Where the loss couples the views of a response, its views stay together.
std::vector<std::vector<std::int64_t>> update_parts(const MaskPlan& plan, Coupling coupling,
                                                    std::int64_t views_per_update);

}  // namespace drift
