#include <core/interface/sampling_operators.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace drift {

SampledTokens sample_with_operators(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                                    const SamplingOptions& options) {
  const auto device = logits_NV.device();
  const auto logits = logits_NV.to(at::kFloat);
  const auto rows = row_M.to(device);
  auto allowed_logits = logits.clone();
  for (const auto& [begin, end] : options.forbidden_ids) {
    const auto last = std::min(end, logits.size(1));
    if (begin < last) allowed_logits.narrow(1, begin, last - begin).fill_(-std::numeric_limits<float>::infinity());
  }
  at::Tensor token;
  if (options.temperature == 0) {
    token = allowed_logits.argmax(-1).index_select(0, rows);
  } else {
    const auto cumulative =
        at::softmax(allowed_logits / options.temperature, -1).to(at::kDouble).cumsum(-1).index_select(0, rows);
    const auto total = cumulative.narrow(1, cumulative.size(1) - 1, 1).contiguous();
    const auto target = uniform_M.to(device).unsqueeze(1) * total;
    // Rounding may lift the target to the total: the last id that has a probability takes it.
    const auto last = at::searchsorted(cumulative, total, /*out_int32=*/false, /*right=*/false);
    token = at::minimum(at::searchsorted(cumulative, target, /*out_int32=*/false, /*right=*/true), last).squeeze(1);
  }
  const auto log_probabilities = at::log_softmax(logits, -1);
  const auto logprob = log_probabilities.index_select(0, rows).gather(1, token.unsqueeze(1)).squeeze(1);
  at::Tensor confidence = logprob.exp();
  if (options.confidence == Confidence::kMargin) {
    const auto top = std::get<0>(at::topk(log_probabilities.exp(), 2, -1));
    confidence = (top.select(1, 0) - top.select(1, 1)).index_select(0, rows);
  } else if (options.confidence == Confidence::kNegativeEntropy) {
    confidence = (log_probabilities.exp() * log_probabilities).sum(-1).index_select(0, rows);
  }
  return {token, logprob, confidence, {}};
}

}  // namespace drift
