// TraceRL's loss (docs/spec/tracerl.md 5.4, 5.5).

#include "tracerl.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace drift::tracerl {

TraceLoss::TraceLoss(const Params& params)
    : clip_(params),
      kl_(params),
      by_length_(params.get<std::string>("norm") == "length"),
      kl_sum_(params.get<std::string>("kl_norm") == "sum"),
      kl_by_length_(params.get<std::string>("kl_norm") == "length"),
      per_response_(params.get<std::string>("weighting") == "response") {}

Coupling TraceLoss::coupling() const {
  // `response` divides by the number of a response's views.
  return per_response_ ? Coupling::kSample : Coupling::kView;
}

void TraceLoss::needs(LossNeeds& needs) const { needs.reference = kl_.needed(); }

Loss TraceLoss::evaluate(const LossInput& in) const {
  const auto& target_FL = in.plan.target_FL;
  const auto& current_FL = in.log_probs.current_FL;
  const auto targets_F = target_FL.sum(1).clamp_min(1).to(current_FL.scalar_type());  // |T|
  const auto length_F = at::full_like(targets_F, static_cast<double>(target_FL.size(1)));
  const auto sum_F = [&](const at::Tensor& values_FL) {
    return at::where(target_FL, values_FL, at::zeros_like(values_FL)).sum(1);
  };
  Loss loss;

  const auto log_ratio_FL = log_ratio(current_FL, in.log_probs.old_FL.detach(), target_FL, clip_.log_ratio_clamp());
  auto view_loss_F = sum_F(clip_.loss(log_ratio_FL, in.token_advantage())) / (by_length_ ? length_F : targets_F);
  if (in.log_probs.reference_FL.defined()) {
    // D = ln(current / reference): e^-D - 1 + D, the reference being the old policy in the original.
    const auto kl_FL =
        kl_.estimate(log_ratio(in.log_probs.reference_FL.detach(), current_FL, target_FL, clip_.log_ratio_clamp()));
    const auto divisor_F = kl_sum_ ? at::ones_like(targets_F) : kl_by_length_ ? length_F : targets_F;
    if (kl_.needed()) view_loss_F = view_loss_F + kl_.beta() * sum_F(kl_FL) / divisor_F;
    loss.add_mean("kl", kl_FL, target_FL);
  }
  loss.value = (view_loss_F * view_weight_F(in)).sum();

  loss.add_mean("ratio", log_ratio_FL.exp(), target_FL);
  loss.add_mean("clip_fraction", clip_.active(log_ratio_FL, in.token_advantage()).to(current_FL.scalar_type()),
                target_FL);
  return loss;
}

/// What each view's loss is multiplied by before all are added up.
///   rows:      1 / F                every view counts the same, so that long trajectories weigh more
///   response:  1 / (B views_b)      every response counts the same; those without a view count as 0
at::Tensor TraceLoss::view_weight_F(const LossInput& in) const {
  const auto type = in.log_probs.current_FL.scalar_type();
  auto views_F = at::full_like(in.plan.sample_F, in.totals.views);
  if (per_response_) {
    const auto views_B = at::zeros({in.advantage_B.size(0)}, in.plan.sample_F.options())
                             .index_add(0, in.plan.sample_F, at::ones_like(in.plan.sample_F));
    views_F = views_B.index_select(0, in.plan.sample_F) * in.totals.responses;
  }
  const auto weight_F = views_F.clamp_min(1).to(type).reciprocal();
  return in.plan.weight_F.defined() ? weight_F * in.plan.weight_F : weight_F;
}

}  // namespace drift::tracerl
