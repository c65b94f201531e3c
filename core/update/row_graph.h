#pragma once

#include <core/kernels/linear_log_softmax.h>
#include <core/update/policy_scores.h>
#include <core/update/view_rows.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>

namespace drift {

/// One worker's LM head, and the sum of its gradient.
struct HeadWorker {
  HeadWorker(const at::Tensor& head_VH) : head(head_VH) {}
  kernels::LinearLogSoftmax head;
  at::Tensor gradient_VH;  ///< undefined until something was added, and where the head is frozen

  at::Tensor backward(const at::Tensor& weight_VH, const at::Tensor& logprob_gradient_E,
                      const at::Tensor& entropy_gradient_E);
};

/// All logits of a range at once, which are kept between score() and backward().
inline constexpr std::int64_t kKeepLogits = std::numeric_limits<std::int64_t>::max();

/// This rank's rows [begin, end) between their forward and their backward: the graph of everything below the LM head is
/// alive, the head runs on some of the scored positions at a time. `flat` ranges are those of the targets that a call
/// is about, `logit_rows` the hidden rows whose logits are computed at a time; unless it is kKeepLogits, backward()
/// computes them again.
class RowGraph {
 public:
  RowGraph(const Model& model, const ViewRows& rows, std::int64_t begin, std::int64_t end,
           const RowAdapters& adapters = {}, bool recompute = false);

  /// Scores into `scores`, of the views that `flat` spans.
  void score(HeadWorker& worker, Range flat, std::int64_t logit_rows, const PolicyScores& scores);
  void backward(HeadWorker& worker, Range flat, std::int64_t logit_rows, const ScoreGradient& gradient);

  const at::Tensor& hidden_NH() const { return hidden_NH_; }  ///< with its graph
  at::Tensor gradient_NH() const;                             ///< d loss / d hidden, added up

 private:
  bool is_all(const TargetSet& chosen) const { return chosen.rows_N.size(0) == batch_.hidden_rows; }
  at::Tensor hidden_rows(const TargetSet& chosen) const;
  void backward_chosen(HeadWorker& worker, const TargetSet& chosen, const ScoreGradient& gradient);
  template <class Body>
  void for_targets(Range flat, std::int64_t logit_rows, const Body& body) const;

  at::Tensor head_VH_;
  RowBatch batch_;
  at::Tensor hidden_NH_, gradient_NH_;
  TargetSet kept_;  // whose logits the worker keeps
};

}  // namespace drift
