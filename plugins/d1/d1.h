#pragma once

// d1 (diffu-GRPO): the parts that this plugin registers.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>

#include <cstdint>

namespace drift::d1 {

/// One view per response: the whole response masked, the prompt masked at random.
class PromptMasking final : public MaskingStrategy {
 public:
  explicit PromptMasking(const Params& params);
  PlanRefresh refresh() const override;
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  bool redraws() const { return random_masking_ && p_mask_prompt_ > 0; }

  double p_mask_prompt_;
  bool random_masking_;
  bool mask_post_eos_keys_;
  std::int64_t end_id_;
};

/// The clipped ratio and a KL, token by token.
class TokenLoss final : public LossEstimator {
 public:
  explicit TokenLoss(const Params& params);
  Coupling coupling() const override;
  void needs(LossNeeds& needs) const override;
  Loss evaluate(const LossInput& input) const override;

 private:
  RatioClip clip_;
  KlTerm kl_;
  LossNorm norm_;
};

}  // namespace drift::d1
