// ESPO's loss (docs/spec/espo.md 4.3 to 4.5): the action is the whole response, padding included.

#include "espo.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace drift::espo {
namespace {

/// Adds up the views of each response: [F] to [B].
at::Tensor over_views(const LossInput& in, const at::Tensor& values_F) {
  return at::zeros({in.advantage_B.size(0)}, values_F.options()).index_add(0, in.plan.sample_F, values_F);
}

/// ELBO_b = 1/K sum_f (L + 1) / l_f sum_{i in M_f} lp_f,i, l_f = |M_f|, [B]. With K = 2 and complementary masks it is
/// 1/2 [(L + 1) / l sum lp1 + (L + 1) / (L - l) sum lp2]; with K = 2M the mean of that over M pairs. The masks' sizes
/// are all the weight there is: those of the plan belong to other estimators.
at::Tensor elbo(const LossInput& in, const at::Tensor& log_prob_FL, const at::Tensor& counted_FL) {
  const auto type = log_prob_FL.scalar_type();
  const double length = static_cast<double>(log_prob_FL.size(1));
  const auto masked_F = in.plan.masked_FL.sum(1).to(type).clamp_min(1);  // l_f
  const auto sum_F = at::where(counted_FL, log_prob_FL, at::zeros_like(log_prob_FL)).sum(1);
  return over_views(in, sum_F / masked_F * ((length + 1) / static_cast<double>(in.totals.forwards)));
}

}  // namespace

SequenceLoss::SequenceLoss(const Params& params)
    : clip_(params), kl_(params), valid_only_(params.get<std::string>("length") == "valid") {}

// The ratio is not linear in the ELBO, which adds up a response's views.
Coupling SequenceLoss::coupling() const { return Coupling::kSample; }

void SequenceLoss::needs(LossNeeds& needs) const { needs.reference = kl_.needed(); }

Loss SequenceLoss::evaluate(const LossInput& in) const {
  const auto type = in.log_probs.current_FL.scalar_type();
  const auto counted = counted_FL(in);
  const auto current_B = elbo(in, in.log_probs.current_FL, counted);
  const auto old_B = elbo(in, in.log_probs.old_FL.detach(), counted);
  const auto valid_B = in.valid_BL.sum(1).to(type);
  const auto length_B =
      valid_only_ ? valid_B.clamp_min(1) : at::full_like(valid_B, static_cast<double>(in.valid_BL.size(1)));
  const auto here_B = over_views(in, at::ones_like(in.plan.sample_F)) > 0;  // responses that this call has views of
  Loss loss;

  // -min(rho A, clip(rho, 1 - eps, 1 + eps) A), rho = exp((ELBO - ELBO_old) / length)
  const auto log_ratio_B = log_ratio(current_B / length_B, old_B / length_B, here_B, clip_.log_ratio_clamp());
  auto response_loss_B = clip_.loss(log_ratio_B, in.advantage_B);
  loss.add_mean("ratio", log_ratio_B.exp(), here_B);
  loss.add_mean("clip_fraction", clip_.active(log_ratio_B, in.advantage_B).to(type), here_B);
  loss.add_mean("elbo", current_B / length_B, here_B);

  // + beta KL / length
  if (in.log_probs.reference_FL.defined()) {
    const auto reference_B = elbo(in, in.log_probs.reference_FL.detach(), counted);
    const auto kl_B = divergence_B(current_B, reference_B) / length_B;
    if (kl_.needed()) response_loss_B = response_loss_B + kl_.beta() * kl_B;
    loss.add_mean("kl", kl_B, here_B);
  }

  // Mean over responses
  loss.value = at::where(here_B, response_loss_B, at::zeros_like(response_loss_B)).sum() /
               static_cast<double>(in.totals.responses);
  return loss;
}

/// Which scored positions the ELBO adds up: all L as the original does, or (E-3 in docs/spec/espo.md 4.7) valid tokens
/// only.
at::Tensor SequenceLoss::counted_FL(const LossInput& in) const {
  if (!valid_only_) return in.plan.target_FL;
  return in.plan.target_FL & in.valid_BL.index_select(0, in.plan.sample_F);
}

/// KL of whole responses, from their ELBOs.
at::Tensor SequenceLoss::divergence_B(const at::Tensor& current_B, const at::Tensor& reference_B) const {
  auto d_B = reference_B - current_B;
  // Only k3 has an exponential that could overflow.
  if (kl_.estimator() == KlEstimator::kK3) d_B = d_B.clamp(-clip_.log_ratio_clamp(), clip_.log_ratio_clamp());
  const auto kl_B = kl_.estimate(d_B);
  if (kl_.estimator() != KlEstimator::kK1) return kl_B;
  // k1's own gradient is 0 in the mean; this term is 0 and brings the KL's: (ELBO - sg ELBO) sg(ELBO - ELBO_ref).
  return kl_B + (current_B - current_B.detach()) * (current_B - reference_B).detach();
}

}  // namespace drift::espo
