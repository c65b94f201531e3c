#pragma once

#include <drift/loss_estimator.h>
#include <drift/mask_plan.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/random.h>
#include <drift/trajectories.h>

#include <core/boundary/components.h>
#include <core/update/loss_treatment.h>
#include <core/update/optimizer.h>
#include <core/update/policy_gradient.h>
#include <core/update/reference_policy.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace drift {

struct PolicyUpdateSettings {
  std::int64_t group_size = 0;
  std::int64_t inner_iterations = 1;         ///< how often the whole plan is gone through
  std::int64_t views_per_update = 0;         ///< optimizer step after so many views of the plan; 0: after all of them
  std::int64_t memory_budget = 0;            ///< bytes
  Shard shard = Shard::kNone;                ///< what the ranks of the run divide, as the optimizer's settings say
  std::optional<RandomStream> dropout = {};  ///< of the adapters; none: nothing is left out
  bool keep_logprobs = false;                ///< UpdateResult::logprobs
};

/// The results of the optimizer steps on one rollout.
struct UpdateResult {
  double loss = 0;                                     ///< mean over the steps, as the norm
  double gradient_norm = 0;                            ///< before clipping
  std::map<std::string, double, std::less<>> metrics;  ///< what the loss reports
  // Masked sequences that went through the model, those of the old and the reference policy included, and through it
  // backwards. Equal contexts count once.
  std::int64_t forward_rows = 0;
  std::int64_t backward_rows = 0;
  bool two_pass = false;             ///< PolicyGradient::two_pass of any step
  bool has_gradient = false;         ///< PolicyGradient::has_gradient of any step
  std::vector<at::Tensor> logprobs;  ///< of the tokens that each step scored, if they are kept
  double old_seconds = 0, reference_seconds = 0, gradient_seconds = 0;
};

/// The optimizer steps on one rollout.
class PolicyUpdate {
 public:
  PolicyUpdate(Ranks& ranks, const Model& model, const Loaded<LossEstimator>& loss, ReferencePolicy* reference,
               Optimizer& optimizer, const PolicyUpdateSettings& settings);

  /// @param kept         the responses that are trained on.
  /// @param plans        one for all inner iterations, or one for each. Not empty of views.
  /// @param advantage_B  of the kept responses.
  /// @param tokens       for each plan; empty: each token has its response's advantage.
  /// @param treatments   if not null, gets what the loss did with the tokens of each plan
  UpdateResult run(const Trajectories& kept, const std::vector<MaskPlan>& plans, const at::Tensor& advantage_B,
                   const std::vector<TokenAdvantages>& tokens = {}, std::vector<LossTreatment>* treatments = nullptr);

 private:
  struct Part;
  struct Sum;
  std::vector<Part> parts_of(const Trajectories& kept, const at::Tensor& advantage_B, const TokenAdvantages& tokens,
                             const MaskPlan& plan, bool unchanged_weights, Sum& sum) const;
  at::Tensor step(std::int64_t optimizer_steps, Part& part, Sum& sum);

  Ranks& ranks_;
  const Model& model_;
  const Loaded<LossEstimator>& loss_;
  ReferencePolicy* reference_;
  Optimizer& optimizer_;
  PolicyUpdateSettings settings_;
  LossNeeds needs_;
};

/// What a plan's random numbers are a function of.
struct PlanDraw {
  RandomStream random;
  std::int64_t step = 0;              ///< training step
  at::Tensor response_number_B = {};  ///< in the rollout; undefined: 0, 1, …
  std::int64_t inner_iteration = 0;
};

/// The strategy's plan for these responses.
MaskPlan draw_plan(const MaskingStrategy& masking, const Trajectories& responses, const ModelTraits& traits,
                   const PlanDraw& draw);

/// The responses with these indices, with their prompts.
Trajectories select_responses(const Trajectories& trajectories, const at::Tensor& index);

/// What the loss of one optimizer step is computed from.
struct UpdateStep {
  Trajectories trajectories;
  at::Tensor advantage_B;
  MaskPlan plan;        ///< its views; response_F indexes `trajectories`
  BatchTotals totals;   ///< of one optimizer step
  at::Tensor scored_B;  ///< LossInput::scored_B
  double share = 1;     ///< of the plan's views: the step's loss is divided by it
  TokenAdvantages tokens = {};
};

/// One optimizer step on some views of `plan`.
///
/// A loss that is a sum over views or over responses sees the totals of the complete plan, so that it gives these views
/// the weights that they have there; their sum is divided by their share of the views. Whatever the loss divides by, a
/// step's loss is then as large as the plan's, and the mean over the steps, each weighed by its share, is the plan's
/// loss. A loss that couples the entire batch uses the responses of these views as its batch.
UpdateStep update_step(const Trajectories& kept, const at::Tensor& advantage_B, const MaskPlan& plan, Coupling coupling,
                       const std::vector<std::int64_t>& views, std::int64_t group_size,
                       const TokenAdvantages& tokens = {});

/// The same for policy_gradient(), without the scores of other policies. The step must outlive it.
UpdateBatch update_batch(const UpdateStep& step);

/// The views of each optimizer step: at least `views_per_update` views in the plan's order, the rest in the last one.
/// Where the loss couples the views of a response, its views stay together.
std::vector<std::vector<std::int64_t>> update_parts(const MaskPlan& plan, Coupling coupling,
                                                    std::int64_t views_per_update);

}  // namespace drift
