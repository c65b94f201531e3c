#pragma once

// Terms that losses have in common (docs/spec/algorithms.md 1.6). Each brings the parameters that it reads, so that
// they mean the same wherever they appear:
//
//     registry.add<MyLoss>("my_loss", "…", joined({RatioClip::params(0.2, 0.2), KlTerm::params(0.04, "k3")}));
//
//     MyLoss::MyLoss(const Params& params) : clip_(params), kl_(params) {}
//
//     const auto log_ratio_FL = log_ratio(current_FL, old_FL, target_FL, clip_.log_ratio_clamp());
//     auto loss_FL = clip_.loss(log_ratio_FL, in.token_advantage());
//     if (kl_.needed()) loss_FL = loss_FL + kl_.beta() * kl_.estimate(log_ratio(reference_FL, current_FL, …));

#include <drift/export.h>
#include <drift/loss_estimator.h>
#include <drift/params.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <memory>

namespace drift {

/// One list of parameters after the other.
DRIFT_API ParamSpecs joined(std::initializer_list<ParamSpecs> lists);

/// ln(numerator / denominator), 0 where `where` is false, no gradient beyond +-clamp: what is dropped must not reach
/// exp(), whose infinite gradient would survive a multiplication by 0.
DRIFT_API at::Tensor log_ratio(const at::Tensor& numerator, const at::Tensor& denominator, const at::Tensor& where,
                               double clamp);

/// PPO's clipped ratio, r = exp(log_ratio): -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A). Where r lies exactly on a
/// bound the gradient passes.
class DRIFT_API RatioClip {
 public:
  /// `eps_low`, `eps_high`, `logratio_clamp`.
  static ParamSpecs params(double eps_low, double eps_high);
  explicit RatioClip(const Params& params);

  at::Tensor loss(const at::Tensor& log_ratio, const at::Tensor& advantage) const;
  /// bool: where the clip stops the gradient: A > 0 and r > 1 + eps_high, or A < 0 and r < 1 - eps_low.
  at::Tensor active(const at::Tensor& log_ratio, const at::Tensor& advantage) const;
  double log_ratio_clamp() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

enum class KlEstimator : std::uint32_t { kK1 = 1, kK2 = 2, kK3 = 3 };

/// KL(current || reference) from sampled tokens or sequences, with d = ln(reference / current):
/// k1 = -d, k2 = d^2 / 2, k3 = e^d - 1 - d.
class DRIFT_API KlTerm {
 public:
  /// `beta`, `kl`. `estimator` is "k1", "k2" or "k3".
  static ParamSpecs params(double beta, const char* estimator);
  explicit KlTerm(const Params& params);

  double beta() const;
  bool needed() const { return beta() > 0; }
  KlEstimator estimator() const;
  at::Tensor estimate(const at::Tensor& d) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// How the losses of tokens become one number. n_b is the number of scored positions of response b
/// (LossInput::scored_B), the mean over responses counts those without one.
///   token   sum over all / sum of n_b: every token counts the same
///   sample  mean over responses of sum / n_b: every response counts the same
///   length  mean over responses of sum / L
/// With `micro_batch` = m > 0, `token` is taken over m neighbouring responses at a time, then averaged.
class DRIFT_API LossNorm {
 public:
  /// `norm`, `micro_batch`.
  static ParamSpecs params(const char* norm);
  explicit LossNorm(const Params& params);

  /// What each token's loss is multiplied by before everything is added up: float, [B].
  at::Tensor weight_B(const LossInput& input) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace drift
