#include <core/interface/sampling_operators.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/special_entr.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace drift {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();  // a logit that is not drawn

at::Tensor probabilities(const at::Tensor& logits_NV) { return at::softmax(logits_NV, -1).to(at::kDouble); }

at::Tensor cut_by_top_p(const at::Tensor& logits_NV, double top_p) {
  if (top_p <= 0 || top_p >= 1) return logits_NV;
  const auto [sorted_NV, id_NV] = at::sort(logits_NV, /*stable=*/true, /*dim=*/-1, /*descending=*/true);
  const auto reached_NV = probabilities(sorted_NV).cumsum(-1);
  const auto width = reached_NV.size(1);
  const auto total_N1 = reached_NV.narrow(1, width - 1, 1);
  const auto before_NV = at::cat({at::zeros_like(total_N1), reached_NV.narrow(1, 0, width - 1)}, 1);
  const auto left_NV = at::zeros_like(id_NV, at::kBool).scatter(1, id_NV, before_NV <= top_p * total_N1);
  return logits_NV.masked_fill(left_NV.logical_not(), kNever);
}

/// With those as likely as the k-th.
at::Tensor cut_by_top_k(const at::Tensor& logits_NV, std::int64_t top_k) {
  if (top_k == 0 || top_k >= logits_NV.size(1)) return logits_NV;
  const auto largest_NK = std::get<0>(at::topk(logits_NV, top_k, -1));
  return logits_NV.masked_fill(logits_NV < largest_NK.narrow(1, top_k - 1, 1), kNever);
}

at::Tensor cut(const at::Tensor& logits_NV, const SamplingOptions& options) {
  if (options.top_k_first != 0) return cut_by_top_p(cut_by_top_k(logits_NV, options.top_k), options.top_p);
  return cut_by_top_k(cut_by_top_p(logits_NV, options.top_p), options.top_k);
}

/// By inversion of `uniform_M1` from row `row_M`.
at::Tensor draw(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M1) {
  const auto cumulative = probabilities(logits_NV).cumsum(-1).index_select(0, row_M);
  const auto total = cumulative.narrow(1, cumulative.size(1) - 1, 1).contiguous();
  const auto target = uniform_M1 * total;
  // Rounding may lift the target to the total: the last id that has a probability takes it.
  const auto last = at::searchsorted(cumulative, total, /*out_int32=*/false, /*right=*/false);
  return at::minimum(at::searchsorted(cumulative, target, /*out_int32=*/false, /*right=*/true), last).squeeze(1);
}

at::Tensor confidence_of(const at::Tensor& probability_NV, Confidence confidence, const at::Tensor& row_M,
                         const at::Tensor& token_M) {
  if (confidence == Confidence::kMargin && probability_NV.size(1) > 1) {
    const auto top = std::get<0>(at::topk(probability_NV, 2, -1));
    return (top.select(1, 0) - top.select(1, 1)).index_select(0, row_M);
  }
  if (confidence == Confidence::kNegativeEntropy)
    return -at::special_entr(probability_NV).sum(-1).index_select(0, row_M);
  return probability_NV.index_select(0, row_M).gather(1, token_M.unsqueeze(1)).squeeze(1);
}

}  // namespace

SampledTokens sample_with_operators(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                                    const SamplingOptions& options) {
  const auto device = logits_NV.device();
  const auto logits = logits_NV.to(at::kFloat);
  const auto rows = row_M.to(device);
  auto drawn = logits.clone();
  for (const auto& [begin, end] : options.forbidden_ids) {
    const auto last = std::min(end, logits.size(1));
    if (begin < last) drawn.narrow(1, begin, last - begin).fill_(kNever);
  }
  if (options.temperature > 0) drawn = drawn / options.temperature;
  drawn = cut(drawn, options);
  const auto token = options.temperature == 0 ? drawn.argmax(-1).index_select(0, rows)
                                              : draw(drawn, rows, uniform_M.to(device).unsqueeze(1));
  const auto log_probabilities = at::log_softmax(logits, -1);
  const auto logprob = log_probabilities.index_select(0, rows).gather(1, token.unsqueeze(1)).squeeze(1);
  at::Tensor confidence;
  if (options.confidence_of == ConfidenceOf::kDraw) {
    confidence = confidence_of(at::softmax(drawn, -1), options.confidence, rows, token);
  } else if (options.confidence == Confidence::kProbability) {
    confidence = logprob.exp();
  } else {
    confidence = confidence_of(log_probabilities.exp(), options.confidence, rows, token);
  }
  return {token, logprob, confidence, {}};
}

}  // namespace drift
