#pragma once

// The gradient of a loss beside its finite differences.

#include <drift/loss_estimator.h>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// A loss with its gradients by what the policy decides: the current log-probabilities and, where the input has them,
/// the entropies. 0 where it does not depend on them.
struct DifferentiatedLoss {
  Loss loss;
  std::vector<at::Tensor> gradients;  ///< [F, L] each
};
DifferentiatedLoss differentiate(const LossEstimator& loss, const LossInput& input);

/// A place where the two differ.
struct SlopeDifference {
  const char* by = "";  ///< "current", "entropy"
  std::int64_t view = 0, position = 0;
  double gradient = 0, slope = 0;
};

struct SlopeComparison {
  std::size_t compared = 0;  ///< places where the loss has one slope: not a kink, as at the bound of a clip
  std::size_t kinks = 0;
  std::size_t detached = 0;  ///< tensors that depend on what the policy decides, and that the loss detaches
  std::vector<SlopeDifference> differences;
};

/// At every scored position; the input is float64.
SlopeComparison compare_slopes(const LossEstimator& loss, const LossInput& input);

}  // namespace drift
