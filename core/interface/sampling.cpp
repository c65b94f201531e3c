#include <core/interface/random_operators.h>
#include <core/interface/sampling_operators.h>

#include <drift/error.h>
#include <drift/sampling.h>

#include <ATen/ops/broadcast_tensors.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace drift {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw Error("sample_tokens(): " + what, "drift/sampling.h says what it takes");
}

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
  const auto draws = row_M.cpu().contiguous(), uniforms = uniform_M.defined() ? uniform_M.cpu().contiguous() : row_M;
  auto result = empty_result(row_M.size(0));
  for (std::int64_t m = 0; m < row_M.size(0); ++m) {
    const std::int64_t n = draws.const_data_ptr<std::int64_t>()[m];
    if (n < 0 || n >= logits.size(0)) require(false, "`row_M` holds " + std::to_string(n));
    const RowStatistics& row = rows[static_cast<std::size_t>(n)];
    const float* data = logits.const_data_ptr<float>() + n * size;
    const double uniform = options.temperature == 0 ? 0 : uniforms.const_data_ptr<double>()[m];
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

// Without waiting for a device: what lies there is not looked at.
void check(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
           const SamplingOptions& options) {
  require(logits_NV.defined() && logits_NV.dim() == 2 && logits_NV.size(1) > 0 &&
              at::isFloatingType(logits_NV.scalar_type()),
          "`logits_NV` must be of a floating-point type, [N, V]");
  require(row_M.defined() && row_M.dim() == 1 && row_M.scalar_type() == at::kLong, "`row_M` must be int64 [M]");
  require(options.temperature >= 0, "the temperature is " + std::to_string(options.temperature));
  if (options.temperature > 0) {
    require(uniform_M.defined() && uniform_M.scalar_type() == at::kDouble && uniform_M.sizes() == row_M.sizes(),
            "`uniform_M` must be float64 [M]");
  }
  for (const auto& [begin, end] : options.forbidden_ids) {
    require(begin >= 0 && begin <= end,
            "`forbidden_ids` holds [" + std::to_string(begin) + ", " + std::to_string(end) + ")");
  }
  require(!allowed_ranges(options.forbidden_ids, logits_NV.size(1)).empty(), "`forbidden_ids` leaves no token");
}

}  // namespace

SampledTokens sample_tokens(const at::Tensor& logits_NV, const at::Tensor& row_M, const at::Tensor& uniform_M,
                            const SamplingOptions& options) {
  check(logits_NV, row_M, uniform_M, options);
  return logits_NV.is_cpu() ? sample_on_cpu(logits_NV, row_M, uniform_M, options)
                            : sample_with_operators(logits_NV, row_M, uniform_M, options);
}

at::Tensor uniform(const RandomStream& random, std::int64_t step, const at::Tensor& sample_M,
                   const at::Tensor& position_M, const at::Tensor& draw_M) {
  const auto points = at::broadcast_tensors({sample_M.to(at::kLong), position_M.to(at::kLong), draw_M.to(at::kLong)});
  if (!sample_M.is_cpu()) return uniform_with_operators(random, step, points[0], points[1], points[2]);
  const auto sample = points[0].contiguous(), position = points[1].contiguous(), draw = points[2].contiguous();
  auto result = at::empty(sample.sizes(), at::kDouble);
  for (std::int64_t m = 0; m < result.numel(); ++m) {
    result.data_ptr<double>()[m] =
        random.uniform({step, sample.const_data_ptr<std::int64_t>()[m], position.const_data_ptr<std::int64_t>()[m],
                        draw.const_data_ptr<std::int64_t>()[m]});
  }
  return result;
}

}  // namespace drift
