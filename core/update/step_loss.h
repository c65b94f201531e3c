#pragma once

#include <drift/loss_estimator.h>
#include <drift/model.h>

#include <core/update/policy_gradient.h>
#include <core/update/policy_scores.h>
#include <core/update/update_batch.h>

#include <vector>

namespace drift {

/// The loss of one optimizer step, asked about some of its views after others, each view once. Its value, its metrics
/// and its slope go into a PolicyGradient.
class StepLoss {
 public:
  StepLoss(const Model& model, const LossEstimator& loss, const UpdateBatch& batch, PolicyGradient& result);

  const LossNeeds& needs() const { return needs_; }

  /// The loss of these views, and what it needs of their scores.
  /// @throws Error if the log-probabilities, the loss or its gradient are not finite
  ScoreGradient evaluate(const Views& views, const PolicyScores& current);

 private:
  LossInput input(const Views& views, const PolicyScores& current) const;
  void require_finite(double value) const;
  std::vector<at::Tensor> gradients_of(const at::Tensor& value, const LossInput& input);

  const Model& model_;
  const LossEstimator& loss_;
  const UpdateBatch& batch_;
  const LossNeeds needs_;
  PolicyGradient& result_;
};

}  // namespace drift
