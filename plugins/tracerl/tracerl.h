#pragma once

// TraceRL: the parts that this plugin registers.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>

#include <cstdint>
#include <vector>

namespace drift::tracerl {

/// Which positions of a response may be scored, [L]: its valid tokens and, of its padding, the first `kept_pads`
/// tokens (-1: all of it). What is left out is padding at the response's tail, or was never committed.
std::vector<bool> scorable(const Response& response, std::int64_t length, std::int64_t pad_id, std::int64_t kept_pads);

/// Scores a response in the states of its own denoising trajectory, `shrink` steps at a time.
class TraceMasking final : public MaskingStrategy {
 public:
  explicit TraceMasking(Parameters& parameters);
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  std::int64_t shrink_, kept_pads_;
};

/// Random masks of random ratios; `coupled` adds the complement of each.
class RandomTraceMasking : public MaskingStrategy {
 public:
  explicit RandomTraceMasking(Parameters& parameters) : RandomTraceMasking(parameters, /*coupled=*/false) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 protected:
  RandomTraceMasking(Parameters& parameters, bool coupled);

 private:
  double lower_, upper_;
  std::int64_t masks_, kept_pads_;
  bool coupled_;
};

class CoupledTraceMasking final : public RandomTraceMasking {
 public:
  explicit CoupledTraceMasking(Parameters& parameters) : RandomTraceMasking(parameters, /*coupled=*/true) {}
};

/// Padding tokens that a masking strategy scores: parameter `post_num`.
std::int64_t kept_pads(Parameters& parameters);

enum class PolicyNorm { kTargets, kLength };
enum class KlNorm { kTargets, kSum, kLength };

/// PPO's clipped ratio and a KL, view by view ("row" in the original).
class TraceLoss final : public LossEstimator {
 public:
  explicit TraceLoss(Parameters& parameters);
  Coupling coupling() const override;
  void needs(LossNeeds& needs) const override;
  Loss evaluate(const LossInput& input) const override;

 private:
  at::Tensor view_weight_F(const LossInput& input) const;

  PolicyNorm norm_;
  KlNorm kl_norm_;
  bool per_response_, confidence_weights_;
  RatioClip clip_;
  KlTerm kl_;
};

}  // namespace drift::tracerl
