#pragma once

// ESPO: the parts that this plugin registers.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>

#include <cstdint>
#include <vector>

namespace drift::espo {

/// Random masks whose sizes are spread evenly over a micro-batch, each with its complement.
class StratifiedMasking final : public MaskingStrategy {
 public:
  explicit StratifiedMasking(const Params& params);
  PlanRefresh refresh() const override;
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  std::int64_t num_mc_;
  bool coupled_;
  std::int64_t micro_batch_;
};

/// The clipped ratio and a KL of whole responses, from estimates of their ELBO.
class SequenceLoss final : public LossEstimator {
 public:
  explicit SequenceLoss(const Params& params);
  Coupling coupling() const override;
  void needs(LossNeeds& needs) const override;
  Loss evaluate(const LossInput& input) const override;

 private:
  at::Tensor counted_FL(const LossInput& input) const;
  at::Tensor divergence_B(const at::Tensor& current_B, const at::Tensor& reference_B) const;

  RatioClip clip_;
  KlTerm kl_;
  bool valid_only_;
};

}  // namespace drift::espo
