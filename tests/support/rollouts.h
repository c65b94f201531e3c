#pragma once

// Small hand-written rollouts, and what masking strategies and losses make of them.

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/trajectories.h>

#include <cstdint>
#include <vector>

namespace drift::test {

/// One response, position by position.
struct ResponseRow {
  std::vector<double> raw_step;     ///< -1: never committed
  std::vector<double> valid;        ///< 1 or 0
  std::vector<double> probability;  ///< at commit time
};

/// The responses as a rollout leaves them. Tokens are 0, prompts are one token, every response is its own group.
Trajectories make_trajectories(const std::vector<ResponseRow>& responses);

/// `count` random responses of `length` positions: gaps in the steps, some padding at the end, one response without a
/// valid token.
Trajectories random_trajectories(std::int64_t count, std::int64_t length, std::uint64_t seed);

/// The responses of the given numbers, in that order.
Trajectories select_responses(const Trajectories& trajectories, const std::vector<std::int64_t>& responses);

/// The plan at optimisation step `step`; response b has number `sample_numbers[b]` (default: b) and draws accordingly.
MaskPlan draw_plan(const MaskingStrategy& strategy, const Trajectories& trajectories, std::int64_t step = 0,
                   std::vector<std::int64_t> sample_numbers = {}, std::uint64_t seed = 1);

/// The views of the given numbers alone. Totals stay those of the batch.
LossInput select_views(const LossInput& input, const std::vector<std::int64_t>& views);

/// Number of the view of `response` in `forward`; -1 if there is none.
std::int64_t find_view(const MaskPlan& plan, std::int64_t forward, std::int64_t response);

/// Any tensor as numbers, row by row.
std::vector<double> numbers(const at::Tensor& tensor);
/// Row `row` of a matrix.
std::vector<double> numbers(const at::Tensor& tensor, std::int64_t row);
/// A float64 vector.
at::Tensor vector_tensor(const std::vector<double>& values);
/// A float64 matrix.
at::Tensor matrix_tensor(const std::vector<std::vector<double>>& rows);

/// Sum over all calls / count over all calls of a metric.
struct MetricTotal {
  double sum = 0;
  double count = 0;
  void add(const Loss& loss, const std::string& name);
  double value() const { return sum / count; }
};

/// The gradient of the value by the current log-probabilities (by a fresh leaf of the same values), as numbers.
std::vector<double> gradient(const LossEstimator& loss, const LossInput& input);
/// The same by central finite differences.
std::vector<double> finite_difference_gradient(const LossEstimator& loss, const LossInput& input);

}  // namespace drift::test
