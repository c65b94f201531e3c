#include <drift/loss_terms.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace drift {

ParamSpecs joined(std::initializer_list<ParamSpecs> lists) {
  ParamSpecs all;
  for (const ParamSpecs& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

at::Tensor log_ratio(const at::Tensor& numerator, const at::Tensor& denominator, const at::Tensor& where,
                     double clamp) {
  const auto difference = numerator - denominator;
  return at::where(where, difference, at::zeros_like(difference)).clamp(-clamp, clamp);
}

ParamSpecs RatioClip::params(double eps_low, double eps_high) {
  return {
      {"eps_low", eps_low, "the ratio is clipped below 1 - eps_low", between(0, 1)},
      {"eps_high", eps_high, "the ratio is clipped above 1 + eps_high", at_least(0)},
      {"logratio_clamp", 80.0, "bound on |ln ratio|, in the policy term and the KL, so that no ratio overflows",
       or_infinite(above(0))},
  };
}

struct RatioClip::State {
  double eps_low, eps_high, log_ratio_clamp;
};

RatioClip::RatioClip(const Params& params)
    : state_(std::make_shared<State>(State{params.get<double>("eps_low"), params.get<double>("eps_high"),
                                           params.get<double>("logratio_clamp")})) {}

double RatioClip::log_ratio_clamp() const { return state_->log_ratio_clamp; }

at::Tensor RatioClip::loss(const at::Tensor& log_ratio, const at::Tensor& advantage) const {
  const auto ratio = log_ratio.exp();
  const auto clipped = ratio.clamp(1 - state_->eps_low, 1 + state_->eps_high);
  return -at::minimum(ratio * advantage, clipped * advantage);
}

at::Tensor RatioClip::active(const at::Tensor& log_ratio, const at::Tensor& advantage) const {
  const auto ratio = log_ratio.detach().exp();
  return ((advantage > 0) & (ratio > 1 + state_->eps_high)) | ((advantage < 0) & (ratio < 1 - state_->eps_low));
}

namespace {

constexpr Choices<KlEstimator, 3> kKlEstimators{
    {{"k1", KlEstimator::kK1}, {"k2", KlEstimator::kK2}, {"k3", KlEstimator::kK3}}};

enum class Norm { kToken, kSample, kLength };
constexpr Choices<Norm, 3> kNorms{{{"token", Norm::kToken}, {"sample", Norm::kSample}, {"length", Norm::kLength}}};

}  // namespace

struct KlTerm::State {
  double beta;
  KlEstimator estimator;
};

struct LossNorm::State {
  Norm norm;
  std::int64_t micro_batch;
};

ParamSpecs KlTerm::params(double beta, const char* estimator) {
  return {
      {"beta", beta, "weight of the KL to the reference policy; 0 needs no reference", at_least(0)},
      {"kl", estimator, "KL estimator", one_of({"k1", "k2", "k3"})},
  };
}

KlTerm::KlTerm(const Params& params)
    : state_(std::make_shared<State>(State{params.get<double>("beta"), params.get("kl", kKlEstimators)})) {}

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

ParamSpecs LossNorm::params(const char* norm) {
  return {
      {"norm", norm, "mean over all tokens, over each response's tokens, or by the full response length",
       one_of({"token", "sample", "length"})},
      {"micro_batch", 0, "responses whose tokens are averaged together under `token`, 0 = all", at_least(0)},
  };
}

LossNorm::LossNorm(const Params& params)
    : state_(std::make_shared<State>(State{params.get("norm", kNorms), params.get<std::int64_t>("micro_batch")})) {}

at::Tensor LossNorm::weight_B(const LossInput& input) const {
  const auto type = input.log_probs.current_FL.scalar_type();
  const auto scored_B = input.scored_B.to(type);
  const auto responses = static_cast<double>(input.totals.responses);
  if (state_->norm == Norm::kSample) return (scored_B.clamp_min(1) * responses).reciprocal();
  if (state_->norm == Norm::kLength) {
    return at::full(scored_B.sizes(), 1 / (responses * static_cast<double>(input.valid_BL.size(1))),
                    scored_B.options());
  }
  const std::int64_t size = state_->micro_batch > 0 ? state_->micro_batch : scored_B.size(0);
  const std::int64_t parts = (scored_B.size(0) + size - 1) / size;
  const auto part_B = at::arange(scored_B.size(0), input.scored_B.options()).floor_divide(size);
  const auto tokens_M = at::zeros({parts}, scored_B.options()).index_add(0, part_B, scored_B);
  return (tokens_M.clamp_min(1) * static_cast<double>(parts)).reciprocal().index_select(0, part_B);
}

}  // namespace drift
