// SPG's loss (docs/spec/further_algorithms.md 7). Likelihoods that shall rise are replaced by a lower bound, those that
// shall fall by an upper bound, so that moving the bound moves what it bounds.

#include "spg.h"

#include <drift/loss_terms.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>

namespace drift::spg {

namespace {

constexpr Choices<Negative, 4> kNegatives{
    {{"mix", Negative::kMix}, {"eubo", Negative::kEubo}, {"elbo", Negative::kElbo}, {"zero", Negative::kZero}}};

}  // namespace

SandwichedBounds::SandwichedBounds(Parameters& parameters)
    : negative_(parameters("negative", kNegatives, Negative::kMix,
                           "bound for responses without a positive advantage; zero: they do not count")),
      beta_u_(parameters("beta_u", 1.5, "exponent of the upper bound: the greater, the looser", at_least(1))),
      mix_weight_(parameters("mix_weight", 0.5, "w: share of the upper bound in the mixture", between(0, 1))),
      micro_batch_(parameters("micro_batch", 0,
                              "neighbouring responses that are weighted by their lengths together, 0 = all",
                              at_least(0))) {}

Loss SandwichedBounds::evaluate(const LossInput& in) const {
  const auto& target_FL = in.plan.target_FL;
  const auto& current_FL = in.log_probs.current_FL;
  const auto advantage_B = in.advantage_B.to(current_FL.scalar_type());
  const auto targets_F = target_FL.sum(1).to(current_FL.scalar_type());
  const auto copies_B = sum_over_views(in, at::ones_like(targets_F));

  // A view's weight is 1 / t_hat = n / |T|; all of a response's views say the same n.
  const auto inverse_share_F =
      in.plan.weight_F.defined() ? in.plan.weight_F.to(targets_F.scalar_type()) : at::ones_like(targets_F);
  const auto length_B = sum_over_views(in, inverse_share_F * targets_F) / copies_B.clamp_min(1);

  const auto elbo_B =
      sum_over_views(in, sum_where(current_FL, target_FL) / targets_F.clamp_min(1)) / copies_B.clamp_min(1);
  const auto [log_q_BL, positions_B] = upper_terms(in, inverse_share_F, copies_B);
  const auto upper_B = log_q_BL.sum(1) / positions_B / beta_u_;
  const auto bound_B = bound(advantage_B, elbo_B, upper_B);  // S_b

  Loss loss;
  loss.value = (-advantage_B * bound_B * normaliser_B(length_B)).sum();
  if (in.advantage_BL.defined()) {
    const auto upper_BL = log_q_BL / positions_B.unsqueeze(1) / beta_u_;
    loss.value = -(token_gain_B(in, upper_BL, copies_B) * normaliser_B(length_B)).sum();
  }
  const auto seen_B = copies_B > 0;
  loss.add_mean("elbo", elbo_B, seen_B);
  loss.add_mean("eubo", upper_B, seen_B);
  loss.add_mean("masked_share", inverse_share_F.reciprocal(), targets_F > 0);
  return loss;
}

/// The lower bound where the advantage is positive, else what `negative` names.
at::Tensor SandwichedBounds::bound(const at::Tensor& advantage, const at::Tensor& elbo, const at::Tensor& upper) const {
  const auto negative = negative_ == Negative::kMix    ? mix_weight_ * upper + (1 - mix_weight_) * elbo
                        : negative_ == Negative::kEubo ? upper
                        : negative_ == Negative::kElbo ? elbo
                                                       : at::zeros_like(elbo);
  return at::where(advantage > 0, elbo, negative);
}

/// A_b S_b where tokens have advantages of their own: both bounds are sums over positions, sum over i of A_b,i S_b,i.
at::Tensor SandwichedBounds::token_gain_B(const LossInput& in, const at::Tensor& upper_BL,
                                          const at::Tensor& copies_B) const {
  const auto& current_FL = in.log_probs.current_FL;
  const auto targets_F = in.plan.target_FL.sum(1).clamp_min(1).to(current_FL.scalar_type());
  const auto share_FL = at::where(in.plan.target_FL, current_FL, at::zeros_like(current_FL)) / targets_F.unsqueeze(1);
  const auto elbo_BL = sum_over_views(in, share_FL) / copies_B.clamp_min(1).unsqueeze(1);
  const auto advantage_BL = in.advantage_BL.to(current_FL.scalar_type());
  return (advantage_BL * bound(advantage_BL, elbo_BL, upper_BL)).sum(1);
}

/// The upper bound is 1 / beta_u mean over i of ln q_i, q_i = mean over copies of p_i^beta_u 1(i masked) / t_hat, i the
/// positions that some copy masks. In logarithms, so that unlikely tokens do not vanish.
/// @return ln q_i, 0 at other positions, and the number of these positions.
std::pair<at::Tensor, at::Tensor> SandwichedBounds::upper_terms(const LossInput& in, const at::Tensor& inverse_share_F,
                                                                const at::Tensor& copies_B) const {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const auto log_term_FL = beta_u_ * in.log_probs.current_FL + inverse_share_F.log().unsqueeze(1);
  const auto term_FL = at::where(in.plan.target_FL, log_term_FL, at::full_like(log_term_FL, kNothing));
  const auto term_BKL = at::full({copies_B.size(0), in.totals.terms, term_FL.size(1)}, kNothing, term_FL.options())
                            .index_put({in.plan.response_F, in.plan.term_F}, term_FL);
  const auto masked_BL = (term_BKL > kNothing).any(1);
  // Positions that no copy masks: any finite number, so that no gradient is lost in infinity - infinity.
  const auto log_sum_BL = at::where(masked_BL.unsqueeze(1), term_BKL, at::zeros_like(term_BKL)).logsumexp(1);
  const auto log_q_BL = log_sum_BL - copies_B.clamp_min(1).log().unsqueeze(1);
  return {at::where(masked_BL, log_q_BL, at::zeros_like(log_q_BL)), masked_BL.sum(1).clamp_min(1)};
}

/// n_b / sum of n over the response's micro-batch; micro-batches are averaged.
at::Tensor SandwichedBounds::normaliser_B(const at::Tensor& length_B) const {
  const std::int64_t responses = length_B.size(0);
  const std::int64_t size = micro_batch_ > 0 ? micro_batch_ : responses;
  const std::int64_t parts = (responses + size - 1) / size;
  const auto part_B = at::arange(responses, length_B.options().dtype(at::kLong)).floor_divide(size);
  const auto sum_M = at::zeros({parts}, length_B.options()).index_add(0, part_B, length_B).clamp_min(1);
  return length_B / sum_M.index_select(0, part_B) / static_cast<double>(parts);
}

}  // namespace drift::spg
