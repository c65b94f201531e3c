#pragma once

// Terms that losses share (docs/spec/algorithms.md 1.6). Each declares the parameters that it reads, so that these mean
// the same in every loss:
//
//     explicit MyLoss(Parameters& parameters) : clip_(parameters, 0.2, 0.2), kl_(parameters, 0.04, KlEstimator::kK3) {}
//
//     const auto ratio_FL = log_ratio(current_FL, old_FL, target_FL, clip_.log_ratio_clamp());
//     auto loss_FL = clip_.loss(ratio_FL, advantage, target_FL, loss);               // metrics: ratio, clip_fraction
//     loss_FL = kl_.added_to(loss_FL, reference_FL, current_FL, target_FL, clip_.log_ratio_clamp(), loss);  // metric:
//     kl loss.value = sum_where(loss_FL, target_FL).sum();

#include <drift/export.h>
#include <drift/loss_estimator.h>
#include <drift/params.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace drift {

/// ln(numerator / denominator), 0 where `where` is false, no gradient beyond +-clamp. Dropped values must not reach
/// exp(): its infinite gradient would survive a multiplication by 0.
DRIFT_API at::Tensor log_ratio(const at::Tensor& numerator, const at::Tensor& denominator, const at::Tensor& where,
                               double clamp);

/// Sum over the true positions of `where` in each view: [F, L] to [F].
DRIFT_API at::Tensor sum_where(const at::Tensor& values_FL, const at::Tensor& where_FL);

/// values_FL, each times its token's weight in the plan (MaskPlan::token_weight_FL); unchanged where it has none. For
/// what a loss multiplies by MaskPlan::weight_F; see LossNeeds::token_weights.
DRIFT_API at::Tensor by_token_weight(const LossInput& input, const at::Tensor& values_FL);

/// Adds up the views of each response: [F] to [B], or [F, L] to [B, L].
DRIFT_API at::Tensor sum_over_views(const LossInput& input, const at::Tensor& values_F);

/// Estimate of each response's ELBO, [B]: the mean over the forwards of the view's weight times the sum of the
/// log-probabilities at its target positions, each times its token's weight.
DRIFT_API at::Tensor elbo_of_views(const LossInput& input, const at::Tensor& log_prob_FL);

/// For losses of whole responses, where tokens have advantages of their own (LossInput::advantage_BL): A_b,i / A_b at
/// each position of each view, [F, L]. 1 if the response's advantage is 0.
DRIFT_API at::Tensor share_of_advantage(const LossInput& input);

/// log_probs.current_FL with the gradient, but not the value, multiplied by share_of_advantage(); unchanged where
/// tokens have no advantages of their own.
DRIFT_API at::Tensor current_by_token_advantage(const LossInput& input);

/// PPO's clipped ratio, r = exp(log_ratio): -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A). If r is exactly on a
/// bound, the gradient passes.
class DRIFT_API RatioClip {
 public:
  /// Declares `eps_low`, `eps_high` (with these defaults) and `logratio_clamp`.
  RatioClip(Parameters& parameters, double eps_low, double eps_high);

  at::Tensor loss(const at::Tensor& log_ratio, const at::Tensor& advantage) const;
  /// The same, and adds the metrics `ratio` and `clip_fraction`, means over `where`.
  at::Tensor loss(const at::Tensor& log_ratio, const at::Tensor& advantage, const at::Tensor& where,
                  Loss& metrics) const;
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
  /// Declares `beta` and `kl`, with these defaults.
  KlTerm(Parameters& parameters, double beta, KlEstimator estimator);

  double beta() const;
  bool needed() const { return beta() > 0; }
  KlEstimator estimator() const;
  at::Tensor estimate(const at::Tensor& d) const;

  /// losses + beta KL of log-probabilities (for example, of tokens); adds the metric `kl`, the mean over `where`.
  /// Without a reference, the unchanged losses.
  at::Tensor added_to(const at::Tensor& losses, const at::Tensor& reference, const at::Tensor& current,
                      const at::Tensor& where, double log_ratio_clamp, Loss& metrics) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

enum class LossNormKind : std::uint32_t { kToken = 0, kSample = 1, kLength = 2, kSum = 3 };

/// How the losses of tokens become one number. n_b is the number of scored positions of response b
/// (LossInput::scored_B); the mean over responses includes those without one.
///   token   sum over all / sum of n_b: every token counts the same
///   sample  mean over responses of sum / n_b: every response counts the same
///   length  mean over responses of sum / L
///   sum     mean over responses of sum, for a plan with weights that add up to 1
/// With `micro_batch` = m > 0, `token` is taken over m neighbouring responses at a time, then averaged.
class DRIFT_API LossNorm {
 public:
  /// Declares `norm`, with this default, and `micro_batch`.
  LossNorm(Parameters& parameters, LossNormKind norm);

  /// The factor of each token's loss before all are added up: float, [B].
  at::Tensor weight_B(const LossInput& input) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace drift
