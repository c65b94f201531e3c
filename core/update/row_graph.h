#pragma once

#include <core/kernels/linear_log_softmax.h>
#include <core/update/policy_scores.h>
#include <core/update/view_rows.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// d loss / d log-prob and d loss / d entropy, [F, L] of some views.
struct ScorePull {
  at::Tensor logprob_FL;
  at::Tensor entropy_FL;  ///< undefined where the loss has no use for entropies
};

/// One worker's LM head, and the sum of its gradient.
struct HeadWorker {
  HeadWorker(const at::Tensor& head_VH) : head(head_VH) {}
  kernels::LinearLogSoftmax head;
  at::Tensor gradient_VH;  ///< undefined until something was added

  at::Tensor backward(const at::Tensor& weight_VH, const at::Tensor& logprob_pull_E, const at::Tensor& entropy_pull_E);
};

/// Rows [begin, end) between their forward and their backward: the graph of everything below the LM head is alive, the
/// head runs on some of the scored positions at a time. `flat` ranges are those of the targets that a call is about.
class RowGraph {
 public:
  RowGraph(const Model& model, const Trajectories& trajectories, const std::vector<ViewRow>& rows, std::int64_t begin,
           std::int64_t end, bool recompute);

  /// Scores into `scores` (of the views that `flat` spans); the logits are kept for pull().
  void score(HeadWorker& worker, Range flat, const PolicyScores& scores);
  void pull(HeadWorker& worker, const ScorePull& pull);

  /// The same for any number of targets: scores alone, and the logits again where they are pulled.
  void score_in_parts(HeadWorker& worker, Range flat, std::int64_t logit_rows, const PolicyScores& scores) const;
  void pull_in_parts(HeadWorker& worker, Range flat, std::int64_t logit_rows, const ScorePull& pull);

  const at::Tensor& hidden_NH() const { return hidden_NH_; }  ///< with its graph
  at::Tensor gradient_NH() const;                             ///< what was pulled back to it

 private:
  bool is_all(const TargetSet& chosen) const { return chosen.rows_N.size(0) == batch_.hidden_rows; }
  at::Tensor hidden_rows(const TargetSet& chosen) const;
  void pull_chosen(HeadWorker& worker, const TargetSet& chosen, const ScorePull& pull);
  template <class Body>
  void for_parts(Range flat, std::int64_t logit_rows, const Body& body) const;

  at::Tensor head_VH_;
  RowBatch batch_;
  at::Tensor hidden_NH_, gradient_NH_;
  TargetSet chosen_;  // of the last score()
};

}  // namespace drift
