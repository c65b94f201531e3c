#include <core/update/rollout_correction.h>

#include <core/update/policy_scores.h>
#include <core/update/update_batch.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/any.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace drift {
namespace {

constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();

/// Of positions [begin, end) of a view, if its masks show one of their states: the denoising step that follows; else
/// kNever. Masked is what was committed then or later, or never.
std::int32_t shown_step(const std::int32_t* step, const bool* masked, std::int64_t begin, std::int64_t end) {
  std::int32_t shown = kNever;
  for (std::int64_t i = begin; i < end; ++i) {
    if (masked[i] && step[i] >= 0) shown = std::min(shown, step[i]);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (masked[i] != (step[i] < 0 || step[i] >= shown)) return kNever;
  }
  return shown;
}

}  // namespace

at::Tensor scored_when_committed(const ModelTraits& traits, const Trajectories& trajectories, const MaskPlan& plan) {
  const std::int64_t views = plan.response_F.size(0), length = plan.target_FL.size(1);
  const auto scored_FL = at::zeros({views, length}, at::kBool);
  for (std::int64_t f = 0; f < views; ++f) {
    // A view that changes more than the response's masks shows no state of the rollout.
    if (plan.prompt_masked_FP.defined() && plan.prompt_masked_FP[f].any().item<bool>()) continue;
    if (plan.attended_FL.defined() && !plan.attended_FL[f].all().item<bool>()) continue;
    const std::int64_t b = plan.response_F.const_data_ptr<std::int64_t>()[f];
    const std::int32_t* const step = trajectories.step_BL.const_data_ptr<std::int32_t>() + b * length;
    const bool* const masked = plan.masked_FL.const_data_ptr<bool>() + f * length;
    const bool* const target = plan.target_FL.const_data_ptr<bool>() + f * length;
    const auto show = [&](std::int64_t begin, std::int64_t end) {
      const std::int32_t shown = shown_step(step, masked, begin, end);
      for (std::int64_t i = begin; i < end; ++i)
        scored_FL.data_ptr<bool>()[f * length + i] = target[i] && shown != kNever && step[i] == shown;
    };
    if (traits.block_size == 0) {
      show(0, length);
      continue;
    }
    // Decoding saw blocks that count from the text's first token.
    const BlockText seen(traits.block_size, trajectories, BlockOrigin::kText, b);
    const BlockText text(traits.block_size, trajectories, plan.block_origin, b);
    if (text.begin(text.block(text.length - 1)) != seen.begin(seen.block(seen.length - 1))) continue;
    for (std::int64_t t = text.prompt; t < text.length; t = text.end(text.block(t)))
      show(t - text.prompt, text.end(text.block(t)) - text.prompt);
  }
  return scored_FL;
}

RolloutCorrection rollout_correction(Ranks& ranks, const Model& model, const Trajectories& trajectories,
                                     const MaskPlan& plan, double cap) {
  RolloutCorrection correction;
  correction.weight_BL = at::ones(trajectories.tokens_BL.sizes(), at::kFloat);
  const auto scored_FL = scored_when_committed(model.traits(), trajectories, plan);
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
