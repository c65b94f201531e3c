#include <core/update/rollout_gap.h>

#include <core/update/commit_states.h>
#include <core/update/policy_scores.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>

#include <algorithm>
#include <vector>

namespace drift {

RolloutGap rollout_gap(Ranks& ranks, const Model& model, const Trajectories& trajectories, std::int64_t count,
                       const RandomStream& random, std::int64_t step) {
  const std::int64_t responses = trajectories.step_BL.size(0);
  const std::int64_t measured = std::min(count, responses);
  PlanBuilder builder(trajectories.step_BL.size(1), trajectories.prompts.tokens_BP.size(1));
  for (std::int64_t k = 0; k < measured; ++k) {
    const std::int64_t b = k * responses / measured;
    const auto steps = committing_steps(trajectories, b);
    if (steps.empty()) continue;
    const auto drawn = random.below(static_cast<std::int64_t>(steps.size()), {step, b, 0, 0});
    add_commit_state(builder, trajectories, b, steps[static_cast<std::size_t>(drawn)]);
  }
  const MaskPlan plan = builder.finish(/*forwards=*/1);
  if (plan.response_F.size(0) == 0) return {};
  const auto scores = score_views(ranks, model, trajectories, plan, all_views(plan), /*want_entropy=*/false);
  const auto committed_FL = trajectories.commit_logprob_BL.index_select(0, plan.response_F).to(at::kDouble);
  const auto gap_FL = (scores.logprob_FL.cpu().to(at::kDouble) - committed_FL).abs();
  const auto gap_N = gap_FL.masked_select(plan.target_FL);
  return {gap_N.mean().item<double>(), gap_N.max().item<double>()};
}

}  // namespace drift
