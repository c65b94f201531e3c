#pragma once

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/model.h>
#include <drift/random.h>
#include <drift/trajectories.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// An estimate of the policy gradient.
struct GradientEstimate {
  at::Tensor gradient_P;  ///< float64: minus the gradient of the loss, all trained parameters one after the other
  std::int64_t rows = 0;  ///< masked sequences that went through the model, those of the old and reference policy too
  std::int64_t contexts = 0;  ///< that the plan may have of one response: MaskPlan::forwards
};

/// A masking strategy and a loss as an estimator of the policy gradient: what the first optimizer step of a training
/// step computes, before clipping and AdamW. The weights are still those that wrote the responses, and those of the
/// reference policy.
class GradientEstimator {
 public:
  struct Settings {
    std::int64_t group_size = 1;
    std::int64_t memory_budget = 0;  ///< bytes
  };

  GradientEstimator(const Model& model, const MaskingStrategy& masking, const LossEstimator& loss,
                    const Settings& settings);

  /// From one plan for these responses.
  /// @param random  of the plan: another stream gives an independent plan
  /// @param step    training step, as the strategy gets it
  GradientEstimate estimate(const Trajectories& responses, const at::Tensor& advantage_B, const RandomStream& random,
                            std::int64_t step) const;

  /// Means over the first plans of a stream: for each number of views, which ascend, the mean gradient and the rows of
  /// all its plans.
  std::vector<GradientEstimate> means(const Trajectories& responses, const at::Tensor& advantage_B,
                                      const RandomStream& random, std::int64_t step,
                                      const std::vector<std::int64_t>& views) const;

 private:
  const Model& model_;
  const MaskingStrategy& masking_;
  const LossEstimator& loss_;
  Settings settings_;
  std::int64_t parameters_ = 0;
};

}  // namespace drift
