#pragma once

#include <drift/loss_estimator.h>
#include <drift/mask_plan.h>
#include <drift/trajectories.h>

#include <core/update/generalised_advantages.h>
#include <core/update/policy_scores.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// Totals of one optimizer step on the views of `plan`.
BatchTotals batch_totals(const MaskPlan& plan, std::int64_t responses, std::int64_t group_size,
                         std::int64_t optimizer_steps);

/// LossInput::scored_B: for each of B responses, the positions that at least one view scores.
at::Tensor scored_positions(const MaskPlan& plan, std::int64_t responses);

/// All that one optimizer step is computed from: the kept responses, the step's views, and what other policies think of
/// them.
struct UpdateBatch {
  Trajectories trajectories;
  at::Tensor advantage_B;
  MaskPlan plan;        ///< the step's views; response_F indexes `trajectories`
  BatchTotals totals;   ///< of one optimizer step
  at::Tensor scored_B;  ///< LossInput::scored_B
  /// Of the plan's views, those of this step: its loss is divided by it.
  double fraction = 1;
  TokenAdvantages tokens = {};           ///< LossInput::advantage_BL and its like
  PolicyScores old_policy = {};          ///< logprob_FL undefined: the weights have not changed, old is current
  PolicyScores reference = {};           ///< undefined unless the loss needs it
  bool reference_is_old_policy = false;  ///< instead of `reference`
  /// With blocks: rows of views go side by side into rows of at most so many tokens; 0: they do not.
  std::int64_t packed_tokens = 0;
  RowAdapters adapters = {};  ///< what the current policy sees of them
};

/// One optimizer step on all views of a plan, without the scores of other policies.
UpdateBatch update_batch(const Trajectories& kept, const at::Tensor& advantage_B, const MaskPlan& plan,
                         std::int64_t group_size, const TokenAdvantages& tokens = {});

/// One optimizer step on some views of `plan`, without the scores of other policies.
///
/// A loss that is a sum over views or over responses sees the totals of the complete plan, so that it gives these views
/// the weights that they have there; their sum is divided by their fraction of the views. Whatever the loss divides by,
/// a step's loss is then as large as the plan's, and the mean over the steps, each weighed by its fraction, is the
/// plan's loss. A loss that couples the entire batch uses the responses of these views as its batch.
UpdateBatch update_batch(const Trajectories& kept, const at::Tensor& advantage_B, const MaskPlan& plan,
                         Coupling coupling, const Views& views, std::int64_t group_size,
                         const TokenAdvantages& tokens = {});

/// The views of each optimizer step: at least `views_per_update` views in the plan's order, the rest in the last one.
/// Where the loss couples the views of a response, its views stay together.
std::vector<Views> views_of_steps(const MaskPlan& plan, Coupling coupling, std::int64_t views_per_update);

/// The views of `plan` with these numbers, on `device`.
MaskPlan select_views(const MaskPlan& plan, const Views& views, at::Device device);

/// on_device() of a plan of the host.
MaskPlan plan_on_device(const MaskPlan& plan, at::Device device);

/// The responses with these indices, with their prompts.
Trajectories select_responses(const Trajectories& trajectories, const at::Tensor& index);

/// An undefined tensor stays undefined.
at::Tensor selected(const at::Tensor& tensor, const at::Tensor& index, at::Device device = at::kCPU);

}  // namespace drift
