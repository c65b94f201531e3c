#pragma once

// RLDF, reinforcement learning from denoising feedback: the parts that this plugin registers.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>

#include <cstdint>
#include <vector>

namespace drift::rldf {

/// Which denoising steps of a response are scored.
enum class Steps { kSampled, kFirst, kLast };

/// Scores a response in states of its own denoising trajectory, preferring the steps the model was least sure of.
class TrajectoryMasking final : public MaskingStrategy {
 public:
  explicit TrajectoryMasking(Parameters& parameters);
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  /// Positions [begin, end) of a response, and which of their states are scored.
  struct States {
    std::int64_t begin, end;
    std::vector<std::int32_t> raw_step;  ///< of each candidate
    std::vector<std::int64_t> selected;  ///< candidates; empty: there is no signal
    std::vector<double> weight;          ///< of each selected one
  };
  States states(const RandomStream& random, std::int64_t step, const Response& response, std::int64_t begin,
                std::int64_t end) const;
  void add_block_states(PlanBuilder& builder, const Responses& responses, std::int64_t b,
                        const MaskingInput& input) const;
  std::vector<std::int64_t> select(const std::vector<double>& surprisal, const RandomStream& random,
                                   const RandomPoint& point) const;
  std::vector<double> view_weights(const std::vector<double>& surprisal,
                                   const std::vector<std::int64_t>& selected) const;
  void add_state(PlanBuilder& builder, const Response& response, const States& states, std::size_t f) const;

  std::int64_t k_;
  Steps steps_;
  double temperature_;
  bool fill_;
  bool skip_single_step_;
  bool pads_follow_trajectory_;
  bool softmax_weights_;
  bool committed_targets_only_;
};

/// k independent masks over a share of the valid tokens.
class RandomMasking final : public MaskingStrategy {
 public:
  explicit RandomMasking(Parameters& parameters);
  void plan(const MaskingInput& input, MaskPlan& plan) const override;

 private:
  std::int64_t k_;
  double mask_ratio_;
};

/// Two complementary random masks over the valid tokens.
class CoupledRandomMasking final : public MaskingStrategy {
 public:
  explicit CoupledRandomMasking(Parameters&) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override;
};

/// One view with all valid tokens masked.
class AllMasking final : public MaskingStrategy {
 public:
  explicit AllMasking(Parameters&) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override;
};

/// Whose probability the threshold is compared with, and which policy term is taken; auto: by the number of updates per
/// rollout.
enum class Filter { kAuto, kCurrent, kOld };
enum class Form { kAuto, kReinforce, kPpo };

/// REINFORCE or clipped ratio on the tokens that the model does not find too unlikely, plus KL and entropy terms.
class RldfLoss final : public LossEstimator {
 public:
  explicit RldfLoss(Parameters& parameters);
  Coupling coupling() const override;
  void needs(LossNeeds& needs) const override;
  Loss evaluate(const LossInput& input) const override;

 private:
  bool uses_ratio(const LossInput& input) const;
  at::Tensor effective_set(const LossInput& input) const;
  at::Tensor entropy_term(const LossInput& input) const;
  at::Tensor view_scale(const LossInput& input, const at::Tensor& count) const;

  double threshold_;
  bool keep_decoded_;
  Filter filter_;
  bool token_norm_;
  Form form_;
  double entropy_coefficient_;
  bool entropy_relative_;
  RatioClip clip_;
  KlTerm kl_;
};

}  // namespace drift::rldf
