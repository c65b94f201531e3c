#pragma once

#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/trajectories.h>

#include <core/ranks/ranks.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// Truncated importance weights between the policy that wrote the tokens, as its caches had it, and the same weights
/// computed without them: w = min(cap, exp(log-probability in the complete state - log-probability at commit time)).
struct RolloutCorrection {
  at::Tensor weight_BL;     ///< float32, on the CPU; 1 where no view scores the token in the state that committed it
  std::int64_t tokens = 0;  ///< that have a weight of their own
  double weight_sum = 0;    ///< of these
  std::int64_t capped = 0;  ///< of these, whose weight the cap made smaller
  std::int64_t rows = 0;    ///< masked sequences that went through the model
};

/// For the tokens that `plan` scores in the state that committed them. Everything is on the CPU, but for the model,
/// whose weights are those that wrote the responses. A weight depends on its response alone, however views are divided.
RolloutCorrection rollout_correction(Ranks& ranks, const Model& model, const Trajectories& trajectories,
                                     const MaskPlan& plan, double cap);

/// bool [F, L]: targets of a view that shows exactly the state that committed them. Found by comparison: a strategy
/// that draws its masks does not know, and PlanBuilder::score() by default calls all targets committed.
at::Tensor scored_when_committed(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan);

}  // namespace drift
