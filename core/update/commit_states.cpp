#include <core/update/commit_states.h>

#include <core/update/policy_scores.h>

#include <ATen/ops/zeros_like.h>

#include <algorithm>

namespace drift {
namespace {

constexpr std::int64_t kViewsAtOnce = 512;  // whose scores, [F, L], are in memory

}  // namespace

std::vector<std::int32_t> committing_steps(const Trajectories& trajectories, std::int64_t b) {
  const std::int64_t length = trajectories.step_BL.size(1);
  const std::int32_t* const step = trajectories.step_BL.const_data_ptr<std::int32_t>() + b * length;
  std::vector<std::int32_t> steps(step, step + length);
  std::erase_if(steps, [](std::int32_t one) { return one < 0; });
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

void add_commit_state(PlanBuilder& builder, const Trajectories& trajectories, std::int64_t b, std::int32_t chosen) {
  const std::int64_t length = trajectories.step_BL.size(1);
  const std::int32_t* const step = trajectories.step_BL.const_data_ptr<std::int32_t>() + b * length;
  builder.begin_view(b, /*forward=*/0);
  for (std::int64_t i = 0; i < length; ++i) {
    if (step[i] < 0 || step[i] >= chosen) builder.mask(i);
    if (step[i] == chosen) builder.score(i);
  }
}

at::Tensor commit_entropies(Ranks& ranks, const Model& model, const Trajectories& trajectories) {
  const auto entropy_BL = at::zeros_like(trajectories.commit_logprob_BL);
  const std::int64_t length = trajectories.step_BL.size(1), prompt = trajectories.prompts.tokens_BP.size(1);
  std::int64_t b = 0;
  while (b < trajectories.step_BL.size(0)) {
    PlanBuilder builder(length, prompt);
    for (std::int64_t views = 0; b < trajectories.step_BL.size(0) && views < kViewsAtOnce; ++b) {
      for (const std::int32_t step : committing_steps(trajectories, b)) {
        add_commit_state(builder, trajectories, b, step);
        ++views;
      }
    }
    const MaskPlan plan = builder.finish(/*forwards=*/1);
    if (plan.response_F.size(0) == 0) continue;
    const auto scores = score_views(ranks, model, trajectories, plan, all_views(plan), /*want_entropy=*/true);
    // A position is a target of one view, and 0 in the others.
    entropy_BL.index_add_(0, plan.response_F, scores.entropy_FL.cpu().to(entropy_BL.scalar_type()));
  }
  return entropy_BL;
}

}  // namespace drift
