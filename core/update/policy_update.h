#pragma once

#include <drift/loss_estimator.h>
#include <drift/mask_plan.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/random.h>
#include <drift/trajectories.h>

#include <core/boundary/components.h>
#include <core/update/optimizer.h>
#include <core/update/policy_gradient.h>
#include <core/update/reference_policy.h>
#include <core/update/update_batch.h>

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

/// What a loss did with the scored tokens of a plan, over the optimizer steps of one rollout: all that a loss tells of
/// a token is the slope by its log-probability. On the CPU; 0 where a view does not score the position.
struct LossTreatment {
  at::Tensor gradient_FL;  ///< float32, d loss / d log-prob, added up over the optimizer steps
  at::Tensor steps_F;      ///< int64, optimizer steps that used the view
  at::Tensor zero_FL;      ///< int64, those of them in which the slope was 0 …
  at::Tensor dropped_FL;   ///< bool, … also in the first one of all, which the policy that wrote the responses takes

  explicit LossTreatment(const MaskPlan& plan);

  /// One optimizer step on some views of the plan.
  /// @param gradient_NL  [views, L], on any device
  /// @param is_first     no optimizer step came before it
  void add(const Views& views, const at::Tensor& gradient_NL, bool is_first);

 private:
  at::Tensor target_FL_;
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
  struct Step;
  struct Sum;
  std::vector<Step> steps_of(const Trajectories& kept, const at::Tensor& advantage_B, const TokenAdvantages& tokens,
                             const MaskPlan& plan, bool unchanged_weights, Sum& sum) const;
  void score(bool unchanged_weights, UpdateBatch& batch, Sum& sum) const;
  at::Tensor take(Step& step, Sum& sum);

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
/// @throws Error if it has none for such a model
MaskPlan draw_plan(const MaskingStrategy& masking, const Trajectories& responses, const ModelTraits& traits,
                   const PlanDraw& draw);

}  // namespace drift
