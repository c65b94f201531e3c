#include <core/update/policy_scores.h>

#include <core/boundary/divided_weights.h>
#include <core/update/row_graph.h>

#include <drift/parallel.h>

#include <ATen/OpMathType.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <numeric>

namespace drift {
namespace {

// Hidden rows that the LM head computes at a time.
constexpr std::int64_t kHiddenRows = 1024;
// Parameters whose gradient is small compared with the activations of a step, however many workers have one.
constexpr std::int64_t kFewParameters = 16 << 20;

}  // namespace

PolicyScores::PolicyScores(std::int64_t views, std::int64_t length, const at::Tensor& head_VH, bool want_entropy)
    : logprob_FL(at::zeros({views, length},
                           at::TensorOptions(at::toOpMathType(head_VH.scalar_type())).device(head_VH.device()))) {
  if (want_entropy) entropy_FL = at::zeros_like(logprob_FL);
}

void PolicyScores::put(const at::Tensor& flat_E, const kernels::TokenScores& scores) const {
  logprob_FL.view({-1}).index_copy_(0, flat_E, scores.logprob_E);
  if (entropy_FL.defined()) entropy_FL.view({-1}).index_copy_(0, flat_E, scores.entropy_E);
}

void PolicyScores::gather_from_ranks(Ranks& ranks) const {
  // A place is 0 but on the rank that has its row, so that the sum is exact.
  std::vector<at::Tensor> tensors{logprob_FL};
  if (entropy_FL.defined()) tensors.push_back(entropy_FL);
  ranks.all_reduce(tensors);
}

PolicyScores score_rows(Ranks& ranks, const Model& model, const ViewRows& rows, bool want_entropy,
                        const RowAdapters& adapters) {
  const at::NoGradGuard no_gradient;
  const auto head_VH = model.lm_head_VH();
  PolicyScores scores(std::ssize(rows.views()), rows.length(), head_VH, want_entropy);
  scores.rows = rows.count();
  const std::int64_t workers = scoring_workers(model, head_VH.is_cpu());
  std::vector<HeadWorker> heads(static_cast<std::size_t>(workers), HeadWorker(head_VH));
  rows.for_each_batch(workers, rows_of_a_forward(rows.sequence()),
                      [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
                        RowGraph graph(model, rows, begin, end, adapters);
                        graph.score(heads[static_cast<std::size_t>(worker)], rows.flat(), kHiddenRows, scores);
                      });
  accompany(model);
  scores.gather_from_ranks(ranks);
  return scores;
}

PolicyScores score_views(Ranks& ranks, const Model& model, const Trajectories& trajectories, const MaskPlan& plan,
                         const Views& views, bool want_entropy, const RowAdapters& adapters) {
  return score_rows(ranks, model, ViewRows(ranks, model.traits(), trajectories, plan, views, kTokensPerForward),
                    want_entropy, adapters);
}

std::int64_t rows_of_a_forward(std::int64_t sequence) {
  return std::max<std::int64_t>(1, kTokensPerForward / sequence);
}

std::int64_t rows_scored_at_once(const Model& model, std::int64_t sequence, bool on_cpu) {
  return scoring_workers(model, on_cpu) * rows_of_a_forward(sequence);
}

std::int64_t scoring_workers(const Model& model, bool on_cpu) {
  std::int64_t parameters = 0;
  for (const auto& parameter : model.parameters()) {
    if (parameter.tensor.requires_grad()) parameters += parameter.tensor.numel();
  }
  if (parameters > kFewParameters || divided_weights(model) != nullptr) return 1;
  return row_workers(model.traits().hidden_size, on_cpu);
}

Views all_views(const MaskPlan& plan) {
  Views views(static_cast<std::size_t>(plan.response_F.size(0)));
  std::iota(views.begin(), views.end(), std::int64_t{0});
  return views;
}

}  // namespace drift
