#include <drift/loss_terms.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

namespace drift {

at::Tensor log_ratio(const at::Tensor& numerator, const at::Tensor& denominator, const at::Tensor& where,
                     double clamp) {
  const auto difference = numerator - denominator;
  return at::where(where, difference, at::zeros_like(difference)).clamp(-clamp, clamp);
}

at::Tensor sum_where(const at::Tensor& values_FL, const at::Tensor& where_FL) {
  return at::where(where_FL, values_FL, at::zeros_like(values_FL)).sum(1);
}

at::Tensor by_token_weight(const LossInput& input, const at::Tensor& values_FL) {
  const auto& weight_FL = input.plan.token_weight_FL;
  return weight_FL.defined() ? values_FL * weight_FL.to(values_FL.scalar_type()) : values_FL;
}

at::Tensor sum_over_views(const LossInput& input, const at::Tensor& values_F) {
  auto sizes = values_F.sizes().vec();
  sizes[0] = input.advantage_B.size(0);
  return at::zeros(sizes, values_F.options()).index_add(0, input.plan.response_F, values_F);
}

at::Tensor elbo_of_views(const LossInput& input, const at::Tensor& log_prob_FL) {
  auto sum_F = sum_where(by_token_weight(input, log_prob_FL), input.plan.target_FL);
  if (input.plan.weight_F.defined()) sum_F = sum_F * input.plan.weight_F;
  return sum_over_views(input, sum_F) / static_cast<double>(std::max<std::int64_t>(input.totals.terms, 1));
}

at::Tensor share_of_advantage(const LossInput& input) {
  const auto of_response_B1 = input.advantage_B.unsqueeze(1);
  const auto share_BL =
      at::where(of_response_B1 == 0, at::ones_like(input.advantage_BL), input.advantage_BL / of_response_B1);
  return share_BL.index_select(0, input.plan.response_F);
}

at::Tensor current_by_token_advantage(const LossInput& input) {
  const auto& current_FL = input.log_probs.current_FL;
  if (!input.advantage_BL.defined()) return current_FL;
  const auto share_FL = share_of_advantage(input).to(current_FL.scalar_type());
  return current_FL.detach() + share_FL * (current_FL - current_FL.detach());
}

struct RatioClip::State {
  double eps_low, eps_high, log_ratio_clamp;
};

RatioClip::RatioClip(Parameters& parameters, double eps_low, double eps_high)
    : state_(std::make_shared<State>(
          State{parameters("eps_low", eps_low, "the ratio is clipped below 1 - eps_low", between(0, 1)),
                parameters("eps_high", eps_high, "the ratio is clipped above 1 + eps_high", at_least(0)),
                parameters("logratio_clamp", 80.0,
                           "bound on |ln ratio|, in the policy term and the KL, so that no ratio overflows",
                           or_infinite(above(0)))})) {}

double RatioClip::log_ratio_clamp() const { return state_->log_ratio_clamp; }

at::Tensor RatioClip::loss(const at::Tensor& log_ratio, const at::Tensor& advantage) const {
  const auto ratio = log_ratio.exp();
  const auto clipped = ratio.clamp(1 - state_->eps_low, 1 + state_->eps_high);
  return -at::minimum(ratio * advantage, clipped * advantage);
}

at::Tensor RatioClip::loss(const at::Tensor& log_ratio, const at::Tensor& advantage, const at::Tensor& where,
                           Loss& metrics) const {
  metrics.add_mean("ratio", log_ratio.exp(), where);
  metrics.add_mean("clip_fraction", active(log_ratio, advantage).to(log_ratio.scalar_type()), where);
  return loss(log_ratio, advantage);
}

at::Tensor RatioClip::active(const at::Tensor& log_ratio, const at::Tensor& advantage) const {
  const auto ratio = log_ratio.detach().exp();
  return ((advantage > 0) & (ratio > 1 + state_->eps_high)) | ((advantage < 0) & (ratio < 1 - state_->eps_low));
}

namespace {

constexpr Choices<KlEstimator, 3> kKlEstimators{
    {{"k1", KlEstimator::kK1}, {"k2", KlEstimator::kK2}, {"k3", KlEstimator::kK3}}};

constexpr Choices<LossNormKind, 4> kNorms{{{"token", LossNormKind::kToken},
                                           {"sample", LossNormKind::kSample},
                                           {"length", LossNormKind::kLength},
                                           {"sum", LossNormKind::kSum}}};

}  // namespace

struct KlTerm::State {
  double beta;
  KlEstimator estimator;
};

struct LossNorm::State {
  LossNormKind norm;
  std::int64_t micro_batch;
};

KlTerm::KlTerm(Parameters& parameters, double beta, KlEstimator estimator)
    : state_(std::make_shared<State>(
          State{parameters("beta", beta, "weight of the KL to the reference policy; 0 needs no reference", at_least(0)),
                parameters("kl", kKlEstimators, estimator, "KL estimator")})) {}

double KlTerm::beta() const { return state_->beta; }
KlEstimator KlTerm::estimator() const { return state_->estimator; }

at::Tensor KlTerm::estimate(const at::Tensor& d) const {
  switch (state_->estimator) {
    case KlEstimator::kK1: return -d;
    case KlEstimator::kK2: return d * d / 2;
    case KlEstimator::kK3: return d.expm1() - d;
  }
  return {};
}

at::Tensor KlTerm::added_to(const at::Tensor& losses, const at::Tensor& reference, const at::Tensor& current,
                            const at::Tensor& where, double log_ratio_clamp, Loss& metrics) const {
  if (!reference.defined()) return losses;
  const auto kl = estimate(log_ratio(reference.detach(), current, where, log_ratio_clamp));
  metrics.add_mean("kl", kl, where);
  return needed() ? losses + beta() * kl : losses;
}

LossNorm::LossNorm(Parameters& parameters, LossNormKind norm)
    : state_(std::make_shared<State>(State{
          parameters("norm", kNorms, norm,
                     "mean over all tokens, over each response's tokens, divided by the full response length, or the "
                     "sum, for weights of tokens that add up to 1"),
          parameters("micro_batch", 0, "responses whose tokens are averaged together under `token`, 0 = all",
                     at_least(0))})) {}

at::Tensor LossNorm::weight_B(const LossInput& input) const {
  const auto type = input.log_probs.current_FL.scalar_type();
  const auto scored_B = input.scored_B.to(type);
  const auto responses = static_cast<double>(input.totals.responses);
  if (state_->norm == LossNormKind::kSample) return (scored_B.clamp_min(1) * responses).reciprocal();
  if (state_->norm == LossNormKind::kLength || state_->norm == LossNormKind::kSum) {
    const double length = state_->norm == LossNormKind::kLength ? static_cast<double>(input.valid_BL.size(1)) : 1;
    return at::full(scored_B.sizes(), 1 / (responses * length), scored_B.options());
  }
  const std::int64_t size = state_->micro_batch > 0 ? state_->micro_batch : scored_B.size(0);
  const std::int64_t parts = (scored_B.size(0) + size - 1) / size;
  const auto part_B = at::arange(scored_B.size(0), input.scored_B.options()).floor_divide(size);
  const auto tokens_M = at::zeros({parts}, scored_B.options()).index_add(0, part_B, scored_B);
  return (tokens_M.clamp_min(1) * static_cast<double>(parts)).reciprocal().index_select(0, part_B);
}

}  // namespace drift
