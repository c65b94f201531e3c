#include <core/update/policy_scores.h>

#include <core/boundary/checked.h>
#include <core/boundary/divided_weights.h>

#include <drift/parallel.h>

#include <ATen/OpMathType.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <numeric>

namespace drift {
namespace {

// Rows of one forward without gradients: full-speed products, activations of a layer in cache.
constexpr std::int64_t kTokensPerForward = 8192;
// Hidden rows that the LM head computes at a time.
constexpr std::int64_t kHiddenRows = 1024;
// Parameters whose gradient is small compared with the activations of a step, however many workers have one.
constexpr std::int64_t kFewParameters = 16 << 20;

}  // namespace

PolicyScores::PolicyScores(std::int64_t views, std::int64_t length, at::TensorOptions options, bool want_entropy)
    : logprob_FL(at::zeros({views, length}, options)) {
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

PolicyScores score_views(Ranks& ranks, const Model& model, const Trajectories& trajectories, const MaskPlan& plan,
                         const std::vector<std::int64_t>& views, bool want_entropy, const RowAdapters& adapters) {
  const at::NoGradGuard no_gradient;
  auto rows = distinct_view_rows(model.traits(), trajectories, plan, views);
  const std::int64_t length = trajectories.tokens_BL.size(1);
  const std::int64_t sequence = trajectories.prompts.tokens_BP.size(1) + length;
  const auto head_VH = model.lm_head_VH();
  const auto device = head_VH.device();
  const Range all_flat{0, static_cast<std::int64_t>(views.size()) * length};
  const auto type = at::toOpMathType(head_VH.scalar_type());
  PolicyScores scores(all_flat.end / length, length, head_VH.options().dtype(type).requires_grad(false), want_entropy);
  scores.rows = static_cast<std::int64_t>(rows.size());
  rows = rows_of_this_rank(ranks, std::move(rows));

  const std::int64_t workers = scoring_workers(model, head_VH.is_cpu());
  const std::int64_t rows_at_once = rows_scored_at_once(model, sequence, head_VH.is_cpu()) / workers;
  parallel_rows(workers, static_cast<std::int64_t>(rows.size()),
                [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                  kernels::LinearLogSoftmax head(head_VH);
                  for (std::int64_t first = begin; first < end; first += rows_at_once) {
                    const auto last = std::min(end, first + rows_at_once);
                    const auto batch = make_row_batch(model, trajectories, rows, first, last, device, adapters);
                    const auto hidden_NH = checked_forward(model, batch.forward);
                    for (std::int64_t n = 0; n < batch.hidden_rows; n += kHiddenRows) {
                      const Range part{n, std::min(batch.hidden_rows, n + kHiddenRows)};
                      const auto chosen = select_targets(batch, all_flat, part, device);
                      scores.put(chosen.flat_E, head.score(hidden_NH.narrow(0, part.begin, part.end - part.begin),
                                                           chosen.targets, want_entropy));
                    }
                  }
                });
  accompany(model);
  scores.gather_from_ranks(ranks);
  return scores;
}

std::int64_t rows_scored_at_once(const Model& model, std::int64_t sequence, bool on_cpu) {
  return scoring_workers(model, on_cpu) * std::max<std::int64_t>(1, kTokensPerForward / sequence);
}

std::int64_t scoring_workers(const Model& model, bool on_cpu) {
  std::int64_t parameters = 0;
  for (const auto& parameter : model.parameters()) {
    if (parameter.tensor.requires_grad()) parameters += parameter.tensor.numel();
  }
  if (parameters > kFewParameters || divided_weights(model) != nullptr) return 1;
  return row_workers(model.traits().hidden_size, on_cpu);
}

std::vector<std::int64_t> all_views(const MaskPlan& plan) {
  std::vector<std::int64_t> views(static_cast<std::size_t>(plan.response_F.size(0)));
  std::iota(views.begin(), views.end(), std::int64_t{0});
  return views;
}

}  // namespace drift
