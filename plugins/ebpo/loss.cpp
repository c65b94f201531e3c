// EBPO's loss: one ratio for each response.

#include "ebpo.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace drift::ebpo {

ElboLoss::ElboLoss(Parameters& parameters)
    : timestep_weights_(
          parameters("timestep_weights", std::vector<double>{},
                     "what each view counts in the ELBO, the last number also those after it; empty: all the same, 1 "
                     "together",
                     at_least(0))),
      clip_(parameters, 0.2, 0.2),
      kl_(parameters, 0.0, KlEstimator::kK2) {}

void ElboLoss::needs(LossNeeds& needs) const {
  needs.reference = kl_.needed();
  needs.token_weights = true;
}

/// The sum over views of w_n times the sum over masked tokens of ln p / level, [B].
at::Tensor ElboLoss::elbo_B(const LossInput& in, const at::Tensor& log_prob_FL) const {
  if (timestep_weights_.empty()) return elbo_of_views(in, log_prob_FL);
  const auto weight_K = at::tensor(timestep_weights_, log_prob_FL.options().requires_grad(false));
  const auto weight_F1 = weight_K.index_select(0, in.plan.term_F.clamp_max(weight_K.size(0) - 1)).unsqueeze(1);
  return elbo_of_views(in, log_prob_FL * weight_F1 * static_cast<double>(in.totals.terms));
}

Loss ElboLoss::evaluate(const LossInput& in) const {
  const auto type = in.log_probs.current_FL.scalar_type();
  const auto current_B = elbo_B(in, current_by_token_advantage(in));
  const auto old_B = elbo_B(in, in.log_probs.old_FL.detach());
  const auto here_B = sum_over_views(in, at::ones_like(in.plan.response_F)) > 0;
  Loss loss;

  // -min(rho A, clip(rho, 1 - eps_low, 1 + eps_high) A), rho = exp(ELBO - old ELBO)
  const auto log_ratio_B = log_ratio(current_B, old_B, here_B, clip_.log_ratio_clamp());
  auto response_B = clip_.loss(log_ratio_B, in.advantage_B.to(type), here_B, loss);
  loss.add_mean("elbo", current_B, here_B);

  // + beta KL
  if (in.log_probs.reference_FL.defined()) {
    const auto reference_B = elbo_B(in, in.log_probs.reference_FL.detach());
    response_B = kl_.added_to(response_B, reference_B, current_B, here_B, clip_.log_ratio_clamp(), loss);
  }

  // Mean over the responses that have a token.
  const auto written = (in.scored_B > 0).sum().clamp_min(1).to(type);
  loss.value = at::where(here_B, response_B, at::zeros_like(response_B)).sum() / written;
  return loss;
}

}  // namespace drift::ebpo
