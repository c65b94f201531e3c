#pragma once

// Coupled-GRPO: the parts that this plugin registers.

#include <drift/host.h>
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>

#include <cstdint>
#include <mutex>

namespace drift::coupled_grpo {

/// The fully masked response, and pairs of complementary random masks.
class PairMasking final : public MaskingStrategy {
 public:
  explicit PairMasking(const Params& params);
  PlanRefresh refresh() const override;
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  double t_low_, t_high_;
  std::int64_t pairs_;
  bool include_full_mask_, random_masking_;
  std::int64_t end_id_;
};

/// The clipped ratio and a KL of each token's log-probability, averaged over the views that score it.
class PairLoss final : public LossEstimator {
 public:
  PairLoss(const Params& params, Host& host);
  Coupling coupling() const override;
  void needs(LossNeeds& needs) const override;
  Loss evaluate(const LossInput& input) const override;

 private:
  void warn_of_bias(const at::Tensor& views_BL, const at::Tensor& scored_BL) const;

  RatioClip clip_;
  KlTerm kl_;
  LossNorm norm_;
  Host& host_;
  mutable std::once_flag first_call_;
};

}  // namespace drift::coupled_grpo
