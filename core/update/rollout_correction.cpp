#include <core/update/rollout_correction.h>

#include <core/update/policy_scores.h>
#include <core/update/update_batch.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/all.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/any.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace drift {
at::Tensor scored_when_committed(const Trajectories& trajectories, const MaskPlan& plan) {
  const auto step_FL = trajectories.step_BL.index_select(0, plan.response_F);
  const auto never_FL = at::full_like(step_FL, std::numeric_limits<std::int32_t>::max());
  const auto is_committed_FL = step_FL >= 0;
  // The denoising step whose state the masks may show: the first of those that committed a masked position.
  const auto shown_F1 = at::where(plan.masked_FL.logical_and(is_committed_FL), step_FL, never_FL).amin(1, true);
  // Masked is what was committed then or later, or never.
  auto shows_state_F1 = (plan.masked_FL == is_committed_FL.logical_not().logical_or(step_FL >= shown_F1)).all(1, true);
  // A view that changes more than the response's masks shows no state of the rollout.
  if (plan.prompt_masked_FP.defined()) shows_state_F1.logical_and_(plan.prompt_masked_FP.any(1, true).logical_not());
  if (plan.attended_FL.defined()) shows_state_F1.logical_and_(plan.attended_FL.all(1, true));
  return plan.target_FL.logical_and(step_FL == shown_F1).logical_and(shows_state_F1);
}

RolloutCorrection rollout_correction(Ranks& ranks, const Model& model, const Trajectories& trajectories,
                                     const MaskPlan& plan, double cap) {
  RolloutCorrection correction;
  correction.weight_BL = at::ones(trajectories.tokens_BL.sizes(), at::kFloat);
  const auto scored_FL = scored_when_committed(trajectories, plan);
  std::vector<std::int64_t> views;
  for (const std::int64_t f : all_views(plan)) {
    if (scored_FL[f].any().item<bool>()) views.push_back(f);
  }
  if (views.empty()) return correction;

  MaskPlan own_states = select_views(plan, views, at::kCPU);
  own_states.target_FL = scored_FL.index_select(0, index_tensor(views));
  const auto scores =
      score_views(ranks, model, trajectories, own_states, all_views(own_states), /*want_entropy=*/false);
  correction.rows = scores.rows;
  const auto logprob_FL = scores.logprob_FL.cpu().to(at::kDouble).contiguous();
  const std::int64_t length = logprob_FL.size(1);
  std::vector<bool> seen(static_cast<std::size_t>(correction.weight_BL.numel()));
  for (std::size_t v = 0; v < views.size(); ++v) {
    const std::int64_t b = own_states.response_F.const_data_ptr<std::int64_t>()[v];
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t place = static_cast<std::int64_t>(v) * length + i, token = b * length + i;
      // Strategies that draw states may show one several times.
      if (!own_states.target_FL.const_data_ptr<bool>()[place] || seen[static_cast<std::size_t>(token)]) continue;
      seen[static_cast<std::size_t>(token)] = true;
      const double ratio = std::exp(logprob_FL.const_data_ptr<double>()[place] -
                                    trajectories.commit_logprob_BL.const_data_ptr<float>()[token]);
      const double weight = std::min(ratio, cap);
      correction.weight_BL.data_ptr<float>()[token] = static_cast<float>(weight);
      correction.weight_sum += weight;
      correction.capped += ratio > cap ? 1 : 0;
      ++correction.tokens;
    }
  }
  return correction;
}

}  // namespace drift
