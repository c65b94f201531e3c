#pragma once

// SPG, the sandwiched policy gradient: the parts that this plugin registers.

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace drift::spg {

/// What a copy masks.
enum class Mode { kBlockRandom, kBlockAll, kRandom, kAll };

/// What bounds the likelihood of responses that shall become less likely.
enum class Negative { kMix, kEubo, kElbo, kZero };

/// Several masked copies of a response, block by block. A copy's weight is 1 / t_hat, the valid tokens by the masked
/// ones among them.
class CopyMasking final : public MaskingStrategy {
 public:
  explicit CopyMasking(Parameters& parameters);
  PlanRefresh refresh() const override { return PlanRefresh::kEachInnerIteration; }
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  struct Copy;
  std::vector<std::int64_t> drawn_positions(const MaskingInput& input, const Copy& copy, std::int64_t begin,
                                            std::int64_t end) const;
  std::int64_t drawn_block(const MaskingInput& input, const Copy& copy, std::int64_t length) const;

  Mode mode_;
  std::int64_t copies_, block_;
  double min_t_, max_t_, p_mask_prompt_;
  std::int64_t end_id_;
};

/// A lower bound of the log-likelihood for responses to be made likelier, an upper bound for the others.
class SandwichedBounds final : public LossEstimator {
 public:
  explicit SandwichedBounds(Parameters& parameters);
  /// Responses are weighed by their lengths, which the plan's views say.
  Coupling coupling() const override { return Coupling::kBatch; }
  void needs(LossNeeds& needs) const override { needs.old = false; }
  Loss evaluate(const LossInput& input) const override;

 private:
  at::Tensor bound(const at::Tensor& advantage, const at::Tensor& elbo, const at::Tensor& upper) const;
  std::pair<at::Tensor, at::Tensor> upper_terms(const LossInput& input, const at::Tensor& inverse_share_F,
                                                const at::Tensor& copies_B) const;
  at::Tensor token_gain_B(const LossInput& input, const at::Tensor& upper_BL, const at::Tensor& copies_B) const;
  at::Tensor normaliser_B(const at::Tensor& length_B) const;

  Negative negative_;
  double beta_u_, mix_weight_;
  std::int64_t micro_batch_;
};

}  // namespace drift::spg
