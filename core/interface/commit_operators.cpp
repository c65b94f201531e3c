#include <core/interface/commit_operators.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

namespace drift {
namespace {

at::Tensor counts(const at::Tensor& descending_RK, const CommitRule& rule) {
  if (rule.by == CommitBy::kCount) return rule.count_R;
  if (rule.by == CommitBy::kThreshold) return (descending_RK.to(at::kDouble) >= rule.threshold).sum(1).clamp_min(1);
  const auto rank_K = at::arange(descending_RK.size(1), descending_RK.options().dtype(at::kDouble));
  const auto passes_RK = (descending_RK >= 1 - rule.factor / (rank_K + 2)).logical_or(rank_K == 0);
  return passes_RK.to(at::kLong).cumprod(1).sum(1);
}

}  // namespace

at::Tensor choose_commits_with_operators(const at::Tensor& score_RK, const CommitRule& rule, const at::Tensor& failed) {
  failed.logical_or_(score_RK.isnan().any());
  const auto [descending_RK, order_RK] = score_RK.sort(/*stable=*/true, 1, /*descending=*/true);
  const auto place_K = at::arange(score_RK.size(1), order_RK.options());
  const auto rank_RK = at::zeros_like(order_RK).scatter(1, order_RK, place_K.expand_as(order_RK));
  return (rank_RK < counts(descending_RK, rule).unsqueeze(1))
      .logical_and_(score_RK > -std::numeric_limits<float>::infinity());
}

}  // namespace drift
