#pragma once

#include <drift/loss_estimator.h>
#include <drift/model.h>

#include <core/update/policy_gradient.h>
#include <core/update/policy_scores.h>
#include <core/update/update_batch.h>

#include <string>
#include <vector>

namespace drift {

/// The loss of one optimizer step, asked about some of its views after others, each view once. Its slope goes into a
/// PolicyGradient, and so do, by finish(), its value and its metrics: nothing before waits for a device.
class StepLoss {
 public:
  StepLoss(const Model& model, const LossEstimator& loss, const UpdateBatch& batch, PolicyGradient& result);

  const LossNeeds& needs() const { return needs_; }

  /// The loss of these views, and what it needs of their scores.
  ScoreGradient evaluate(const Views& views, const PolicyScores& current);
  /// @throws Error if the log-probabilities, the loss or its gradient were not finite
  void finish();

 private:
  /// One evaluation: what was counted, and the numbers in this order.
  struct Evaluation {
    std::vector<std::string> metrics;
    bool has_gradient = false;
    at::Tensor number_N;  ///< float64: value, whether its input is finite, slopes' sizes, sum and count of each metric
  };

  LossInput input(const Views& views, const at::Tensor& index, const PolicyScores& current) const;
  std::vector<at::Tensor> gradients_of(const at::Tensor& value, const LossInput& input) const;
  void take(const Evaluation& evaluation, const double* number);
  void require_finite(double value) const;

  const Model& model_;
  const LossEstimator& loss_;
  const UpdateBatch& batch_;
  const LossNeeds needs_;
  LossInput all_views_;  ///< what does not depend on the scores, where these are
  std::vector<Evaluation> evaluations_;
  PolicyGradient& result_;
};

}  // namespace drift
