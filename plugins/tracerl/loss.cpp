// TraceRL's loss (docs/spec/tracerl.md 5.4, 5.5).

#include "tracerl.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>

namespace drift::tracerl {

namespace {

constexpr Choices<PolicyNorm, 2> kPolicyNorms{{{"targets", PolicyNorm::kTargets}, {"length", PolicyNorm::kLength}}};
constexpr Choices<KlNorm, 3> kKlNorms{
    {{"targets", KlNorm::kTargets}, {"sum", KlNorm::kSum}, {"length", KlNorm::kLength}}};
constexpr Choices<bool, 2> kPerResponse{{{"rows", false}, {"response", true}}};

}  // namespace

TraceLoss::TraceLoss(Parameters& parameters)
    : norm_(parameters("norm", kPolicyNorms, PolicyNorm::kTargets,
                       "the policy term of a view: mean over its targets, or sum divided by the response length")),
      kl_norm_(
          parameters("kl_norm", kKlNorms, KlNorm::kTargets,
                     "the KL of a view: mean over its targets, their sum, or the sum divided by the response length")),
      per_response_(
          parameters("weighting", kPerResponse, false, "what has equal weight: every view, or every response")),
      confidence_weights_(parameters("confidence_weights", false,
                                     "multiply each token's loss by its probability under the policy that wrote it")),
      clip_(parameters, 0.2, 0.2),
      kl_(parameters, 0.01, KlEstimator::kK3) {}

Coupling TraceLoss::coupling() const {
  // `response` divides by the number of a response's views.
  return per_response_ ? Coupling::kResponse : Coupling::kView;
}

void TraceLoss::needs(LossNeeds& needs) const {
  needs.reference = kl_.needed();
  needs.token_weights = true;
}

Loss TraceLoss::evaluate(const LossInput& in) const {
  const auto& target_FL = in.plan.target_FL;
  const auto& current_FL = in.log_probs.current_FL;
  const auto targets_F = target_FL.sum(1).clamp_min(1).to(current_FL.scalar_type());  // |T|
  const auto length_F = at::full_like(targets_F, static_cast<double>(target_FL.size(1)));
  const auto old_FL = in.log_probs.old_FL.detach();
  const auto sum_F = [&](const at::Tensor& token_FL) {
    return sum_where(by_token_weight(in, confidence_weights_ ? token_FL * old_FL.exp() : token_FL), target_FL);
  };
  Loss loss;

  const auto log_ratio_FL = log_ratio(current_FL, old_FL, target_FL, clip_.log_ratio_clamp());
  const auto policy_FL = clip_.loss(log_ratio_FL, in.token_advantage(), target_FL, loss);
  auto view_loss_F = sum_F(policy_FL) / (norm_ == PolicyNorm::kLength ? length_F : targets_F);
  if (in.log_probs.reference_FL.defined()) {
    // D = ln(current / reference): e^-D - 1 + D, the reference being the old policy in the original.
    const auto kl_FL =
        kl_.estimate(log_ratio(in.log_probs.reference_FL.detach(), current_FL, target_FL, clip_.log_ratio_clamp()));
    const auto divisor_F = kl_norm_ == KlNorm::kSum      ? at::ones_like(targets_F)
                           : kl_norm_ == KlNorm::kLength ? length_F
                                                         : targets_F;
    if (kl_.needed()) view_loss_F = view_loss_F + kl_.beta() * sum_F(kl_FL) / divisor_F;
    loss.add_mean("kl", kl_FL, target_FL);
  }
  loss.value = (view_loss_F * view_weight_F(in)).sum();
  return loss;
}

/// What each view's loss is multiplied by before all are added up.
///   rows:      1 / F                every view counts the same, so that long trajectories weigh more
///   response:  1 / (B views_b)      every response counts the same; those without a view count as 0
at::Tensor TraceLoss::view_weight_F(const LossInput& in) const {
  const auto type = in.log_probs.current_FL.scalar_type();
  auto views_F = at::full_like(in.plan.response_F, in.totals.views);
  if (per_response_) {
    const auto views_B = sum_over_views(in, at::ones_like(in.plan.response_F));
    views_F = views_B.index_select(0, in.plan.response_F) * in.totals.responses;
  }
  const auto weight_F = views_F.clamp_min(1).to(type).reciprocal();
  return in.plan.weight_F.defined() ? weight_F * in.plan.weight_F : weight_F;
}

}  // namespace drift::tracerl
