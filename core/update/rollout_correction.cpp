#include <core/update/rollout_correction.h>

#include <core/update/policy_gradient.h>
#include <core/update/policy_scores.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace drift {
namespace {

constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();

/// Whether a view changes more than the response's masks.
bool changes_surroundings(const MaskPlan& plan, std::int64_t view) {
  return (plan.prompt_masked_FP.defined() && plan.prompt_masked_FP[view].any().item<bool>()) ||
         (plan.attended_FL.defined() && !plan.attended_FL[view].all().item<bool>());
}

/// The denoising step whose state the masks show: masked is what was committed then or later, or never. kNever: none.
std::int32_t shown_step(const bool* masked, const std::int32_t* step, std::int64_t length) {
  std::int32_t first = kNever;
  for (std::int64_t i = 0; i < length; ++i) {
    if (masked[i] && step[i] >= 0) first = std::min(first, step[i]);
  }
  for (std::int64_t i = 0; i < length; ++i) {
    if (masked[i] != (step[i] < 0 || step[i] >= first)) return kNever;
  }
  return first;
}

}  // namespace

at::Tensor scored_when_committed(const Trajectories& trajectories, const MaskPlan& plan) {
  const std::int64_t views = plan.response_F.size(0), length = plan.target_FL.size(1);
  auto found_FL = at::zeros_like(plan.target_FL);
  for (std::int64_t f = 0; f < views; ++f) {
    if (changes_surroundings(plan, f)) continue;
    const std::int64_t b = plan.response_F.const_data_ptr<std::int64_t>()[f];
    const std::int32_t* const step = trajectories.step_BL.const_data_ptr<std::int32_t>() + b * length;
    const std::int32_t shown = shown_step(plan.masked_FL.const_data_ptr<bool>() + f * length, step, length);
    const bool* const target = plan.target_FL.const_data_ptr<bool>() + f * length;
    for (std::int64_t i = 0; shown != kNever && i < length; ++i) {
      found_FL.data_ptr<bool>()[f * length + i] = target[i] && step[i] == shown;
    }
  }
  return found_FL;
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
