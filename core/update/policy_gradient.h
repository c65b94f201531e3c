#pragma once

#include <drift/loss_estimator.h>
#include <drift/model.h>

#include <core/ranks/shard.h>
#include <core/update/update_batch.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace drift {

struct MetricSum {
  double sum = 0;
  double count = 0;
};

/// Where the time of a gradient went. Of rows that are scored first and then computed again, all but the first scores
/// counts as `backward`.
struct GradientSeconds {
  double forward = 0;   ///< everything below the LM head
  double head = 0;      ///< LM head and log-softmax, forward and backward
  double loss = 0;      ///< the loss and d loss / d log-prob
  double backward = 0;  ///< everything below the LM head
};

struct PolicyGradient {
  double loss = 0;
  std::map<std::string, MetricSum> metrics;
  /// In the order of trainable_parameters(), float32 at least. Where ranks divide the optimizer, this rank's shares of
  /// them, flat.
  std::vector<at::Tensor> gradients;
  at::Tensor current_FL;           ///< detached: what old_policy is at later inner iterations
  at::Tensor gradient_FL;          ///< d loss / d log-prob
  std::int64_t rows = 0;           ///< distinct masked sequences that went through the model, each time counted
  std::int64_t backward_rows = 0;  ///< those that went backwards through it
  GradientSeconds seconds;
  /// d loss / d log-prob is not 0 everywhere, or every advantage is.
  bool has_gradient = false;
  bool two_pass = false;  ///< a coupled unit did not fit: log-probabilities first, then the gradients
};

/// Value and exact gradient of the loss. Each rank computes its own rows; the log-probabilities are
/// exchanged before the loss, which every rank computes, and the gradients at the end: each rank then has all of them,
/// or its shares. Views are taken together as the loss's coupling demands and as the memory budget allows; the LM head
/// is fused with the log-softmax and runs on scored positions, some at a time, so that each of its three products is
/// computed once. A coupled unit beyond the budget costs extra work, for the same gradient: activations inside the
/// blocks are recomputed in the backward, or, if that is not enough, the unit's log-probabilities are computed without
/// gradients first, the loss gives d loss / d log-prob, and the rows are computed again, some at a time, with
/// gradients and go backwards.
///
/// @param memory_budget  bytes for activations, on each rank; at least one row is always computed.
/// @param shard  what the ranks of the run divide
/// @throws Error if the log-probabilities, the loss or its gradient are not finite; of several ranks, also if what a
/// rank adds to the gradient is not, on all of them and with its name.
PolicyGradient policy_gradient(Ranks& ranks, const Model& model, const LossEstimator& loss, const UpdateBatch& batch,
                               std::int64_t memory_budget, Shard shard = Shard::kNone);

}  // namespace drift
