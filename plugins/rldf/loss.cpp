// RLDF's loss (docs/spec/rldf.md 2.3 to 2.5; paper, equations (ppo_loss), (reinforce_loss), (policy_obj) and Algorithm
// "Loss Estimation of Each Timestep").

#include "rldf.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <cmath>

namespace drift::rldf {

namespace {

constexpr Choices<Filter, 3> kFilters{{{"auto", Filter::kAuto}, {"current", Filter::kCurrent}, {"old", Filter::kOld}}};
constexpr Choices<Form, 3> kForms{{{"auto", Form::kAuto}, {"reinforce", Form::kReinforce}, {"ppo", Form::kPpo}}};
constexpr Choices<bool, 2> kTokenNorm{{{"sample", false}, {"token", true}}};
constexpr Choices<bool, 2> kEntropyRelative{{{"ref_delta", true}, {"absolute", false}}};

}  // namespace

RldfLoss::RldfLoss(Parameters& parameters)
    : threshold_(parameters("low_prob_threshold", 0.2,
                            "theta: tokens less likely than this are dropped; 0 drops none, > 1 all but those just "
                            "decoded",
                            at_least(0))),
      keep_decoded_(parameters("keep_decoded", true, "keep unlikely tokens that this step committed")),
      filter_(parameters("filter_on", kFilters, Filter::kAuto,
                         "policy whose probability theta is compared with; auto: current if one update per rollout, "
                         "else old")),
      token_norm_(parameters("norm", kTokenNorm, false,
                             "mean over each response's tokens, or over the tokens of all responses")),
      form_(
          parameters("form", kForms, Form::kAuto, "policy term; auto: reinforce if one update per rollout, else ppo")),
      entropy_coefficient_(
          parameters("entropy_coefficient", 0.0, "weight of the entropy term; a positive one is a penalty")),
      entropy_relative_(parameters("entropy_mode", kEntropyRelative, true,
                                   "entropy term: distance to the reference's entropy, or the entropy itself")),
      clip_(parameters, 0.2, 0.2),
      kl_(parameters, 0.01, KlEstimator::kK3) {}

Coupling RldfLoss::coupling() const {
  // `token` divides by the number of effective tokens of all responses, which the current policy decides.
  return token_norm_ ? Coupling::kBatch : Coupling::kView;
}

void RldfLoss::needs(LossNeeds& needs) const {
  needs.token_weights = true;
  needs.entropy = entropy_coefficient_ != 0;
  needs.reference = kl_.needed() || (needs.entropy && entropy_relative_);
}

Loss RldfLoss::evaluate(const LossInput& in) const {
  const auto advantage = in.token_advantage();
  const auto effective_FL = effective_set(in);  // E_f
  const auto count_F = effective_FL.sum(1);     // |E_f,b|
  Loss loss;

  at::Tensor token_loss_FL;
  if (uses_ratio(in)) {
    const auto log_ratio_FL =
        log_ratio(in.log_probs.current_FL, in.log_probs.old_FL.detach(), effective_FL, clip_.log_ratio_clamp());
    token_loss_FL = clip_.loss(log_ratio_FL, advantage);  // eq. (ppo_loss)
    loss.add_mean("clip_fraction", clip_.active(log_ratio_FL, advantage).to(log_ratio_FL.scalar_type()), effective_FL);
  } else {
    token_loss_FL = -in.log_probs.current_FL * advantage;  // eq. (reinforce_loss)
  }
  token_loss_FL = kl_.added_to(token_loss_FL, in.log_probs.reference_FL, in.log_probs.current_FL, effective_FL,
                               clip_.log_ratio_clamp(), loss);  // eq. (policy_obj)
  if (in.log_probs.entropy_FL.defined()) {
    if (entropy_coefficient_ != 0) token_loss_FL = token_loss_FL + entropy_coefficient_ * entropy_term(in);
    loss.add_mean("entropy", in.log_probs.entropy_FL, effective_FL);
  }

  loss.value = (sum_where(by_token_weight(in, token_loss_FL), effective_FL) * view_scale(in, count_F)).sum();

  // sum |E| / (sum_b n_valid_b * K): each call brings its share of the batch's denominator.
  const auto share = in.plan.target_FL.sum().to(at::kDouble) / static_cast<double>(in.totals.targets);
  loss.add_ratio("token_utility", count_F.sum(), in.valid_BL.sum() * in.totals.terms * share);
  return loss;
}

/// REINFORCE with one update per rollout, the clipped ratio with several.
bool RldfLoss::uses_ratio(const LossInput& in) const {
  return form_ == Form::kPpo || (form_ == Form::kAuto && in.totals.optimizer_steps > 1);
}

/// E_f = {i in targets: lp_i >= ln theta} and C_f. Token clipping: in a state long before a token's own step its
/// probability may be near 0, and its logarithm would dominate the loss.
at::Tensor RldfLoss::effective_set(const LossInput& in) const {
  if (threshold_ <= 0) return in.plan.target_FL;
  const bool on_old = filter_ == Filter::kOld || (filter_ == Filter::kAuto && in.totals.optimizer_steps > 1);
  const auto& filter_FL = on_old ? in.log_probs.old_FL : in.log_probs.current_FL;
  const auto likely_FL = in.plan.target_FL & (filter_FL >= std::log(threshold_));
  if (!keep_decoded_) return likely_FL;
  return in.plan.committed_FL.defined() ? likely_FL | in.plan.committed_FL : in.plan.target_FL;
}

at::Tensor RldfLoss::entropy_term(const LossInput& in) const {
  const auto& entropy_FL = in.log_probs.entropy_FL;
  return entropy_relative_ ? (in.log_probs.reference_entropy_FL.detach() - entropy_FL).abs() : entropy_FL;
}

/// What the sum over a view's effective tokens is multiplied by, [F].
///   sample: 1 / (K B max(|E_f,b|, 1))        eq. (policy_obj); responses without a view count as 0 in the mean over B
///   token:  1 / (K max(sum_b |E_f,b|, 1))    eq. (rldf-token); one normaliser for each term f
at::Tensor RldfLoss::view_scale(const LossInput& in, const at::Tensor& count_F) const {
  const auto terms = static_cast<double>(in.totals.terms);
  at::Tensor divisor_F;
  if (token_norm_) {
    const auto count_K = at::zeros({in.totals.terms}, count_F.options()).index_add(0, in.plan.term_F, count_F);
    divisor_F = count_K.index_select(0, in.plan.term_F).clamp_min(1) * terms;
  } else {
    divisor_F = count_F.clamp_min(1) * (terms * static_cast<double>(in.totals.responses));
  }
  const auto scale_F = divisor_F.to(in.log_probs.current_FL.scalar_type()).reciprocal();
  return in.plan.weight_F.defined() ? scale_F * in.plan.weight_F : scale_F;
}

}  // namespace drift::rldf
