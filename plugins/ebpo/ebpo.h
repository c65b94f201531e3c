#pragma once

// EBPO: the parts that this plugin registers (docs/algorithms/ebpo.md).

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>

#include <cstdint>
#include <vector>

namespace drift::ebpo {

/// The tokens of each block of each response, [response][block]; of a model without blocks a response is one.
std::vector<std::vector<std::vector<std::int64_t>>> tokens_of_blocks(const Responses& responses,
                                                                     std::int64_t block_size, BlockOrigin origin);

/// Noise level of the i-th of a micro-batch's blocks, in [0, 1).
double level_of_block(double offset, std::int64_t i, std::int64_t blocks);

/// How many of a block's tokens are masked, the first ones in random order: 1 to all.
std::int64_t masks_of_block(double level, std::int64_t tokens);

/// In each view every block of a response is noised, at levels that are spread evenly over the blocks of a micro-batch.
class BlockMasking final : public MaskingStrategy {
 public:
  explicit BlockMasking(Parameters& parameters);
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  std::int64_t views_, micro_batch_;
  BlockOrigin origin_;
};

/// The clipped ratio of the responses' ELBOs, and a KL of them.
class ElboLoss final : public LossEstimator {
 public:
  explicit ElboLoss(Parameters& parameters);
  /// The ratio is not linear in the ELBO, which adds up a response's views.
  Coupling coupling() const override { return Coupling::kResponse; }
  void needs(LossNeeds& needs) const override;
  Loss evaluate(const LossInput& input) const override;

 private:
  at::Tensor elbo_B(const LossInput& input, const at::Tensor& log_prob_FL) const;

  std::vector<double> timestep_weights_;
  RatioClip clip_;
  KlTerm kl_;
};

}  // namespace drift::ebpo
