// d1's loss (docs/spec/d1.md 3.3 to 3.5).

#include "d1.h"

#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

namespace drift::d1 {

TokenLoss::TokenLoss(const Params& params) : clip_(params), kl_(params), norm_(params) {}

// The normalisers count tokens, which the plan fixes: every view stands alone.
Coupling TokenLoss::coupling() const { return Coupling::kView; }

void TokenLoss::needs(LossNeeds& needs) const { needs.reference = kl_.needed(); }

Loss TokenLoss::evaluate(const LossInput& in) const {
  const auto& target_FL = in.plan.target_FL;
  const auto advantage = in.token_advantage();
  Loss loss;

  // -min(r A, clip(r, 1 - eps, 1 + eps) A), r = pi(x_i | q') / pi_old(x_i | q')
  const auto log_ratio_FL =
      log_ratio(in.log_probs.current_FL, in.log_probs.old_FL.detach(), target_FL, clip_.log_ratio_clamp());
  auto token_loss_FL = clip_.loss(log_ratio_FL, advantage);
  loss.add_mean("ratio", log_ratio_FL.exp(), target_FL);
  loss.add_mean("clip_fraction", clip_.active(log_ratio_FL, advantage).to(log_ratio_FL.scalar_type()), target_FL);

  // + beta KL
  if (in.log_probs.reference_FL.defined()) {
    const auto kl_FL = kl_.estimate(
        log_ratio(in.log_probs.reference_FL.detach(), in.log_probs.current_FL, target_FL, clip_.log_ratio_clamp()));
    if (kl_.needed()) token_loss_FL = token_loss_FL + kl_.beta() * kl_FL;
    loss.add_mean("kl", kl_FL, target_FL);
  }

  // Sum over valid tokens / their number. d1 has one view per response; under another masking strategy, which scores a
  // token in n views on average, each of them brings 1 / n.
  const auto views_per_token = static_cast<double>(in.totals.targets) / std::max(in.scored_B.sum().item<double>(), 1.0);
  auto weight_F = norm_.weight_B(in).index_select(0, in.plan.sample_F) / std::max(views_per_token, 1.0);
  if (in.plan.weight_F.defined()) weight_F = weight_F * in.plan.weight_F;
  const auto kept_FL = at::where(target_FL, token_loss_FL, at::zeros_like(token_loss_FL));
  loss.value = (kept_FL.sum(1) * weight_F).sum();
  return loss;
}

}  // namespace drift::d1
