#pragma once

#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/plan_builder.h>
#include <drift/trajectories.h>

#include <core/ranks/ranks.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// The distinct steps that committed a position of response b, ascending: they may have gaps.
std::vector<std::int32_t> committing_steps(const Trajectories& trajectories, std::int64_t b);

/// A view: the state before denoising step `step` of response b, which scores the tokens that this step committed.
void add_commit_state(PlanBuilder& builder, const Trajectories& trajectories, std::int64_t b, std::int32_t step);

/// For each position, the entropy of the distribution that its token was committed from, in nats: [B, L]
/// float32, 0 where nothing was committed. Every state is computed again, as a whole: of a rollout that took keys from
/// a cache it is the entropy without the cache. Costs as many forwards as the responses have steps.
at::Tensor commit_entropies(Ranks& ranks, const Model& model, const Trajectories& trajectories);

}  // namespace drift
