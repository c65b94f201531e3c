#include <core/train/policy_scores.h>

#include <drift/parallel.h>

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <numeric>

namespace drift {
namespace {

// Rows of one forward without gradients: full-speed products, activations of a layer in cache.
constexpr std::int64_t kTokensPerForward = 8192;

}  // namespace

ScoredRows score_rows(const Model& model, const Trajectories& trajectories, const std::vector<ViewRow>& rows,
                      std::int64_t begin, std::int64_t end, bool want_entropy) {
  const auto head_VH = model.lm_head_VH();
  const auto batch = make_row_batch(model.traits(), trajectories, rows, begin, end, head_VH.device());
  auto logits_NV = at::mm(model.forward(batch.forward), head_VH.t());
  // Logits are rounded to the model's type, as the originals do; log-softmax is float32 (float64 in gradient checks).
  logits_NV = logits_NV.to(at::toOpMathType(logits_NV.scalar_type()));
  const auto log_total_N = at::logsumexp(logits_NV, {-1});
  ScoredRows scored;
  scored.flat_E = batch.flat_E;
  scored.logprob_E =
      logits_NV.reshape({-1}).index_select(0, batch.logit_index_E) - log_total_N.index_select(0, batch.hidden_row_E);
  if (want_entropy) {
    const auto entropy_N = log_total_N - (at::softmax(logits_NV, -1) * logits_NV).sum(-1);
    scored.entropy_E = entropy_N.index_select(0, batch.hidden_row_E);
  }
  return scored;
}

PolicyScores score_views(const Model& model, const Trajectories& trajectories, const MaskPlan& plan,
                         const std::vector<std::int64_t>& views, bool want_entropy) {
  const at::NoGradGuard no_gradient;
  const auto rows = distinct_view_rows(model.traits(), trajectories, plan, views);
  const std::int64_t length = trajectories.tokens_BL.size(1);
  const std::int64_t sequence = trajectories.prompts.tokens_BP.size(1) + length;
  const auto head = model.lm_head_VH();
  const auto type = at::toOpMathType(head.scalar_type());
  PolicyScores scores;
  scores.rows = static_cast<std::int64_t>(rows.size());
  scores.logprob_FL = at::zeros({static_cast<std::int64_t>(views.size()), length}, head.options().dtype(type));
  if (want_entropy) scores.entropy_FL = at::zeros_like(scores.logprob_FL);

  const std::int64_t rows_at_once = std::max<std::int64_t>(1, kTokensPerForward / sequence);
  const auto workers = row_workers(model.traits().hidden_size, head.is_cpu());
  parallel_rows(workers, static_cast<std::int64_t>(rows.size()),
                [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                  for (std::int64_t first = begin; first < end; first += rows_at_once) {
                    const auto scored =
                        score_rows(model, trajectories, rows, first, std::min(end, first + rows_at_once), want_entropy);
                    scores.logprob_FL.view({-1}).index_copy_(0, scored.flat_E, scored.logprob_E);
                    if (want_entropy) scores.entropy_FL.view({-1}).index_copy_(0, scored.flat_E, scored.entropy_E);
                  }
                });
  return scores;
}

std::vector<std::int64_t> all_views(const MaskPlan& plan) {
  std::vector<std::int64_t> views(static_cast<std::size_t>(plan.sample_F.size(0)));
  std::iota(views.begin(), views.end(), std::int64_t{0});
  return views;
}

}  // namespace drift
