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
  explicit TraceMasking(const Params& params);
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  std::int64_t shrink_, kept_pads_;
};

/// Random masks of random ratios; `coupled` adds the complement of each.
class RandomTraceMasking : public MaskingStrategy {
 public:
  explicit RandomTraceMasking(const Params& params) : RandomTraceMasking(params, /*coupled=*/false) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 protected:
  RandomTraceMasking(const Params& params, bool coupled);

 private:
  double lower_, upper_;
  std::int64_t masks_, kept_pads_;
  bool coupled_;
};

class CoupledTraceMasking final : public RandomTraceMasking {
 public:
  explicit CoupledTraceMasking(const Params& params) : RandomTraceMasking(params, /*coupled=*/true) {}
};

/// PPO's clipped ratio and a KL, view by view ("row" in the original).
class TraceLoss final : public LossEstimator {
 public:
  explicit TraceLoss(const Params& params);
  Coupling coupling() const override;
  void needs(LossNeeds& needs) const override;
  Loss evaluate(const LossInput& input) const override;

 private:
  at::Tensor view_weight_F(const LossInput& input) const;

  RatioClip clip_;
  KlTerm kl_;
  bool by_length_, kl_sum_, kl_by_length_, per_response_;
};

}  // namespace drift::tracerl
