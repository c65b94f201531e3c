#include <core/update/row_graph.h>

#include <core/boundary/checked.h>

#include <ATen/OpMathType.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

namespace drift {
namespace {

at::Tensor chosen_gradients(const at::Tensor& gradient_FL, const at::Tensor& flat_E) {
  return gradient_FL.defined() ? gradient_FL.view({-1}).index_select(0, flat_E) : gradient_FL;
}

}  // namespace

at::Tensor HeadWorker::backward(const at::Tensor& weight_VH, const at::Tensor& logprob_gradient_E,
                                const at::Tensor& entropy_gradient_E) {
  if (!weight_VH.requires_grad()) return head.backward(logprob_gradient_E, entropy_gradient_E, {}, false);
  const bool first = !gradient_VH.defined();
  if (first) {
    const auto type = at::toOpMathType(weight_VH.scalar_type());
    gradient_VH = at::empty(weight_VH.sizes(), weight_VH.options().dtype(type).requires_grad(false));
  }
  return head.backward(logprob_gradient_E, entropy_gradient_E, gradient_VH, /*overwrite=*/first);
}

RowGraph::RowGraph(const Model& model, const ViewRows& rows, std::int64_t begin, std::int64_t end,
                   const RowAdapters& adapters, bool recompute)
    : head_VH_(model.lm_head_VH()), batch_(rows.batch(begin, end, head_VH_.device(), adapters)) {
  batch_.forward.recompute_blocks = recompute;
  hidden_NH_ = checked_forward(model, batch_.forward);
}

at::Tensor RowGraph::gradient_NH() const {
  return gradient_NH_.defined() ? gradient_NH_ : at::zeros_like(hidden_NH_).detach();
}

at::Tensor RowGraph::hidden_rows(const TargetSet& chosen) const {
  const auto hidden_NH = hidden_NH_.detach();
  return is_all(chosen) ? hidden_NH : hidden_NH.index_select(0, chosen.rows_N);
}

void RowGraph::score(HeadWorker& worker, Range flat, std::int64_t logit_rows, const PolicyScores& scores) {
  const bool with_entropy = scores.entropy_FL.defined();
  if (logit_rows == kKeepLogits) {
    kept_ = select_targets(batch_, flat, kAllRows, head_VH_.device());
    return scores.put(kept_.flat_E, worker.head.forward(hidden_rows(kept_), kept_.targets, with_entropy));
  }
  for_targets(flat, logit_rows, [&](const TargetSet& chosen) {
    scores.put(chosen.flat_E, worker.head.score(hidden_rows(chosen), chosen.targets, with_entropy));
  });
}

void RowGraph::backward(HeadWorker& worker, Range flat, std::int64_t logit_rows, const ScoreGradient& gradient) {
  if (logit_rows == kKeepLogits) return backward_chosen(worker, kept_, gradient);
  for_targets(flat, logit_rows, [&](const TargetSet& chosen) {
    worker.head.forward(hidden_rows(chosen), chosen.targets, gradient.entropy_FL.defined());
    backward_chosen(worker, chosen, gradient);
  });
}

void RowGraph::backward_chosen(HeadWorker& worker, const TargetSet& chosen, const ScoreGradient& gradient) {
  const at::NoGradGuard no_gradient;
  auto gradient_NH = worker.backward(head_VH_, chosen_gradients(gradient.logprob_FL, chosen.flat_E),
                                     chosen_gradients(gradient.entropy_FL, chosen.flat_E));
  if (is_all(chosen) && !gradient_NH_.defined()) {
    gradient_NH_ = std::move(gradient_NH);
    return;
  }
  if (!gradient_NH_.defined()) gradient_NH_ = at::zeros_like(hidden_NH_).detach();
  gradient_NH_.index_add_(0, chosen.rows_N, gradient_NH);  // rows that several chunks read get the sum
}

template <class Body>
void RowGraph::for_targets(Range flat, std::int64_t logit_rows, const Body& body) const {
  for (std::int64_t n = 0; n < batch_.hidden_rows; n += logit_rows) {
    const auto chosen = select_targets(batch_, flat, {n, n + logit_rows}, head_VH_.device());
    if (chosen.rows_N.size(0) > 0) body(chosen);
  }
}

}  // namespace drift
