#include <core/nn/sampling.h>

#include <drift/sampling.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>

#include <cmath>
#include <limits>

namespace drift {
namespace {

/// What all draws from one row share.
struct RowStatistics {
  float maximum = 0;
  double log_sum = 0;  // ln sum exp(logit - maximum)
  float margin = 0;
  float negative_entropy = 0;
};

RowStatistics statistics(const float* logits, std::int64_t size, Confidence confidence) {
  RowStatistics row;
  float second = -std::numeric_limits<float>::infinity();
  row.maximum = logits[0];
  for (std::int64_t v = 1; v < size; ++v) {
    if (logits[v] > row.maximum) {
      second = row.maximum;
      row.maximum = logits[v];
    } else if (logits[v] > second) {
      second = logits[v];
    }
  }
  double sum = 0, weighted = 0;
  for (std::int64_t v = 0; v < size; ++v) {
    const float difference = logits[v] - row.maximum;
    const double weight = std::exp(difference);
    sum += weight;
    if (weight > 0) weighted += weight * difference;
  }
  row.log_sum = std::log(sum);
  row.margin = static_cast<float>((1.0 - std::exp(second - row.maximum)) / sum);
  row.negative_entropy =
      confidence == Confidence::kNegativeEntropy ? static_cast<float>(weighted / sum - row.log_sum) : 0;
  return row;
}

/// The allowed ids as ranges, so that inner loops do not ask for each id.
std::vector<std::pair<std::int64_t, std::int64_t>> allowed_ranges(
    std::vector<std::pair<std::int64_t, std::int64_t>> forbidden, std::int64_t size) {
  std::sort(forbidden.begin(), forbidden.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> allowed;
  std::int64_t next = 0;
  for (const auto& [begin, end] : forbidden) {
    if (begin > next) allowed.emplace_back(next, std::min(begin, size));
    next = std::max(next, end);
  }
  if (next < size) allowed.emplace_back(next, size);
  return allowed;
}

template <class Visit>
void for_allowed(const std::vector<std::pair<std::int64_t, std::int64_t>>& allowed, const Visit& visit) {
  for (const auto& [begin, end] : allowed) {
    for (std::int64_t v = begin; v < end; ++v) visit(v);
  }
}

std::int64_t choose(const float* logits, const std::vector<std::pair<std::int64_t, std::int64_t>>& allowed,
                    double temperature, double uniform) {
  std::int64_t best = allowed.front().first;
  for_allowed(allowed, [&](std::int64_t v) { best = logits[v] > logits[best] ? v : best; });
  if (temperature == 0) return best;
  const auto weight = [&](std::int64_t v) {
    return std::exp(static_cast<float>((logits[v] - logits[best]) / temperature));
  };
  double total = 0;
  for_allowed(allowed, [&](std::int64_t v) { total += weight(v); });
  const double target = uniform * total;
  double reached = 0;
  std::int64_t chosen = -1;
  for (const auto& [begin, end] : allowed) {
    for (std::int64_t v = begin; v < end; ++v) {
      reached += weight(v);
      if (reached > target) return v;
      if (weight(v) > 0) chosen = v;  // rounding may leave the last bit of the total out of reach
    }
  }
  return chosen < 0 ? best : chosen;
}

SampledTokens empty_result(std::int64_t count) {
  return {at::empty({count}, at::kLong), at::empty({count}, at::kFloat), at::empty({count}, at::kFloat), {}};
}

SampledTokens sample_on_cpu(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                            const SamplingOptions& options) {
  const auto logits = logits_NV.to(at::kFloat).contiguous();
  const std::int64_t size = logits.size(1);
  const auto allowed = allowed_ranges(options.forbidden_ids, size);
  std::vector<RowStatistics> rows(static_cast<std::size_t>(logits.size(0)));
  for (std::size_t n = 0; n < rows.size(); ++n) {
    rows[n] =
        statistics(logits.const_data_ptr<float>() + static_cast<std::int64_t>(n) * size, size, options.confidence);
  }
  auto result = empty_result(row_M.size(0));
  for (std::int64_t m = 0; m < row_M.size(0); ++m) {
    const std::int64_t n = row_M.const_data_ptr<std::int64_t>()[m];
    const RowStatistics& row = rows[static_cast<std::size_t>(n)];
    const float* data = logits.const_data_ptr<float>() + n * size;
    const double uniform = options.temperature == 0 ? 0 : uniform_M.const_data_ptr<double>()[m];
    const std::int64_t token = choose(data, allowed, options.temperature, uniform);
    const auto logprob = static_cast<float>(data[token] - row.maximum - row.log_sum);
    result.token_M.data_ptr<std::int64_t>()[m] = token;
    result.logprob_M.data_ptr<float>()[m] = logprob;
    result.confidence_M.data_ptr<float>()[m] = options.confidence == Confidence::kMargin ? row.margin
                                               : options.confidence == Confidence::kNegativeEntropy
                                                   ? row.negative_entropy
                                                   : std::exp(logprob);
  }
  return result;
}

}  // namespace

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

SampledTokens sample_tokens(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                            const SamplingOptions& options) {
  return logits_NV.is_cpu() ? sample_on_cpu(logits_NV, row_M, uniform_M, options)
                            : sample_with_operators(logits_NV, row_M, uniform_M, options);
}

}  // namespace drift
