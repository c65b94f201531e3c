// Coupled-GRPO's loss (docs/spec/coupled_grpo.md 6.3 to 6.5).

#include "coupled_grpo.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/any.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace drift::coupled_grpo {
namespace {

/// Adds up the views of each response: [F, L] to [B, L].
at::Tensor over_views(const LossInput& in, const at::Tensor& values_FL) {
  const auto none_BL = at::zeros({in.advantage_B.size(0), values_FL.size(1)}, values_FL.options());
  return none_BL.index_add(0, in.plan.sample_F, values_FL);
}

/// A token's weighted log-probability: the mean of weight_f lp_f,i over the views that score it; 0 where none does.
/// With one pair and the full mask, 1/2 [lp0 + lp1 / t] where the first mask of the pair lies, 1/2 [lp0 + lp2 / (1 -
/// t)] elsewhere.
at::Tensor weighted_log_prob(const LossInput& in, const at::Tensor& log_prob_FL, const at::Tensor& views_BL) {
  auto kept_FL = at::where(in.plan.target_FL, log_prob_FL, at::zeros_like(log_prob_FL));
  if (in.plan.weight_F.defined()) kept_FL = kept_FL * in.plan.weight_F.to(log_prob_FL.scalar_type()).unsqueeze(1);
  return over_views(in, kept_FL) / views_BL.clamp_min(1);
}

}  // namespace

PairLoss::PairLoss(const Params& params, Host& host) : clip_(params), kl_(params), norm_(params), host_(host) {}

// The ratio is one of the mean over a response's views.
Coupling PairLoss::coupling() const { return Coupling::kSample; }

void PairLoss::needs(LossNeeds& needs) const { needs.reference = kl_.needed(); }

Loss PairLoss::evaluate(const LossInput& in) const {
  const auto& current_FL = in.log_probs.current_FL;
  const auto views_BL = over_views(in, in.plan.target_FL.to(current_FL.scalar_type()));
  const auto scored_BL = views_BL > 0;
  std::call_once(first_call_, [&] { warn_of_bias(views_BL, scored_BL); });
  const auto current_BL = weighted_log_prob(in, current_FL, views_BL);
  const auto old_BL = weighted_log_prob(in, in.log_probs.old_FL.detach(), views_BL);
  const auto advantage_B1 = in.advantage_B.unsqueeze(1);
  Loss loss;

  // -min(r A, clip(r, 1 - eps, 1 + eps) A), r of the weighted log-probabilities
  const auto log_ratio_BL = log_ratio(current_BL, old_BL, scored_BL, clip_.log_ratio_clamp());
  auto token_loss_BL = clip_.loss(log_ratio_BL, advantage_B1);
  loss.add_mean("ratio", log_ratio_BL.exp(), scored_BL);
  loss.add_mean("clip_fraction", clip_.active(log_ratio_BL, advantage_B1).to(log_ratio_BL.scalar_type()), scored_BL);
  loss.add_mean("weighted_logprob", current_BL, scored_BL);

  // + beta KL, of the weighted log-probabilities
  if (in.log_probs.reference_FL.defined()) {
    const auto reference_BL = weighted_log_prob(in, in.log_probs.reference_FL.detach(), views_BL);
    const auto kl_BL = kl_.estimate(log_ratio(reference_BL, current_BL, scored_BL, clip_.log_ratio_clamp()));
    if (kl_.needed()) token_loss_BL = token_loss_BL + kl_.beta() * kl_BL;
    loss.add_mean("kl", kl_BL, scored_BL);
  }

  // Sum over valid tokens / their number
  const auto kept_BL = at::where(scored_BL, token_loss_BL, at::zeros_like(token_loss_BL));
  loss.value = (kept_BL.sum(1) * norm_.weight_B(in)).sum();
  return loss;
}

// With complementary pairs every token of a response is scored equally often. Once a run: the host waits for the
// device.
void PairLoss::warn_of_bias(const at::Tensor& views_BL, const at::Tensor& scored_BL) const {
  const auto most_B1 = views_BL.amax(1, /*keepdim=*/true);
  if (!((views_BL != most_B1) & scored_BL).any().item<bool>()) return;
  host_.warn_once(
      "the masking strategy scores some tokens of a response in more views than others, so that their weighted "
      "log-probabilities are biased; coupled_grpo and espo draw complementary pairs");
}

}  // namespace drift::coupled_grpo
