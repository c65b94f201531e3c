#pragma once

// TraceRL: the parts that this plugin registers.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace drift::tracerl {

/// Which positions of a response may be scored, [L]: its valid tokens and, of its padding, the first `kept_pads`
/// tokens (-1: all of it). What is left out is padding at the response's tail, or was never committed.
/// @param is_selected  the positions in question, and the padding that counts; without it all
std::vector<bool> scorable(const Response& response, std::int64_t length, std::int64_t pad_id, std::int64_t kept_pads,
                           const std::function<bool(std::int64_t)>& is_selected = {});

/// Rounds over the blocks of a model with block attention (dLLM-RL, train/rl_sdar.py at 10b4fd1): a round's view shows
/// of each block the state before its next `shrink` steps, and scores what these committed; blocks that are finished
/// stay clean. A target's place in the order is the last of the steps that it was scored with.
/// @param kept_pads  as in scorable(); -1: padding belongs to no step, as in the original
MaskPlan block_rounds(const MaskingInput& input, std::int64_t shrink, std::int64_t kept_pads, BlockOrigin origin);

/// Random masks of the positions of blocks: of each response `masks` views of what is_masked(response, mask, position),
/// then, if `coupled`, the same number with the complements. Views without a target are left out.
MaskPlan random_block_masks(const MaskingInput& input, std::int64_t masks, bool coupled, std::int64_t kept_pads,
                            BlockOrigin origin,
                            const std::function<bool(std::int64_t, std::int64_t, std::int64_t)>& is_masked);

/// Scores a response in the states of its own denoising trajectory, `shrink` steps at a time.
class TraceMasking final : public MaskingStrategy {
 public:
  explicit TraceMasking(Parameters& parameters);
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  std::int64_t shrink_, kept_pads_;
  BlockOrigin origin_;
};

/// Random masks of random ratios; `coupled` adds the complement of each.
class RandomTraceMasking : public MaskingStrategy {
 public:
  explicit RandomTraceMasking(Parameters& parameters) : RandomTraceMasking(parameters, /*coupled=*/false) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 protected:
  RandomTraceMasking(Parameters& parameters, bool coupled);

 private:
  MaskPlan plan_of_blocks(const MaskingInput& input) const;

  double lower_, upper_;
  std::int64_t masks_, kept_pads_;
  BlockOrigin origin_;
  bool coupled_;
};

class CoupledTraceMasking final : public RandomTraceMasking {
 public:
  explicit CoupledTraceMasking(Parameters& parameters) : RandomTraceMasking(parameters, /*coupled=*/true) {}
};

/// Padding tokens that a masking strategy scores: parameter `post_num`.
std::int64_t kept_pads(Parameters& parameters);

/// Where the blocks of a model with block attention begin: parameter `blocks_from`.
BlockOrigin blocks_from(Parameters& parameters);

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
