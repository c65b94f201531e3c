#include <core/interface/sampling_kernels.h>

#include <core/kernels/cuda/library.h>

#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>

namespace drift {
namespace {

using kernels::cuda::check, kernels::cuda::element_of, kernels::cuda::stream_of;
using kernels::cuda::IdRanges, kernels::cuda::KernelTable, kernels::cuda::SampleCall;

constexpr double kLargestInverse = 1e30;  // as that of RowSampler

/// Ascending and apart; nothing if they are too many.
std::optional<IdRanges> ranges_of(std::vector<std::pair<std::int64_t, std::int64_t>> forbidden,
                                  std::int64_t vocabulary) {
  std::sort(forbidden.begin(), forbidden.end());
  IdRanges ranges{};
  for (const auto& [begin, given_end] : forbidden) {
    const std::int64_t end = std::min(given_end, vocabulary);
    if (begin >= end) continue;
    if (ranges.count > 0 && begin <= ranges.end[ranges.count - 1]) {
      ranges.end[ranges.count - 1] = std::max(ranges.end[ranges.count - 1], end);
      continue;
    }
    if (ranges.count == IdRanges::kMost) return std::nullopt;
    ranges.begin[ranges.count] = begin;
    ranges.end[ranges.count++] = end;
  }
  return ranges;
}

}  // namespace

bool can_sample_with_kernels(const at::Tensor& logits_NV, const SamplingOptions& options) {
  return (logits_NV.scalar_type() == at::kFloat || logits_NV.scalar_type() == at::kBFloat16) &&
         logits_NV.size(1) <= SampleCall::kTile * SampleCall::kMostTiles &&
         ranges_of(options.forbidden_ids, logits_NV.size(1)).has_value();
}

SampledTokens sample_with_kernels(const KernelTable& kernels, const at::Tensor& logits_NV, const at::Tensor& row_M,
                                  const at::Tensor& uniform_M, const SamplingOptions& options) {
  const auto logits = logits_NV.contiguous();
  const auto rows = row_M.to(logits.device(), at::kLong, /*non_blocking=*/true).contiguous();
  const bool greedy = options.temperature == 0;
  const auto uniforms =
      greedy ? uniform_M : uniform_M.to(logits.device(), at::kDouble, /*non_blocking=*/true).contiguous();
  const std::int64_t draws = rows.size(0);
  SampledTokens sampled{at::empty({draws}, rows.options()),
                        at::empty({draws}, logits.options().dtype(at::kFloat)),
                        at::empty({draws}, logits.options().dtype(at::kFloat)),
                        {}};
  SampleCall call{};
  call.type = element_of(logits);
  call.logits = logits.const_data_ptr();
  call.vocabulary = logits.size(1);
  call.row = rows.const_data_ptr<std::int64_t>();
  call.uniform = greedy ? nullptr : uniforms.const_data_ptr<double>();
  call.draws = draws;
  call.inverse_temperature = greedy ? 1.0f : static_cast<float>(std::min(1 / options.temperature, kLargestInverse));
  call.confidence = static_cast<std::int32_t>(options.confidence);
  call.of_draw = options.confidence_of == ConfidenceOf::kDraw;
  call.top_k = options.top_k;
  call.top_p = options.top_p;
  call.forbidden = ranges_of(options.forbidden_ids, logits.size(1)).value();
  call.token = sampled.token_M.data_ptr<std::int64_t>();
  call.logprob = sampled.logprob_M.data_ptr<float>();
  call.confidence_out = sampled.confidence_M.data_ptr<float>();
  check(kernels, kernels.sample(call, stream_of(logits)));
  return sampled;
}

at::Tensor uniform_with_kernels(const KernelTable& kernels, const RandomStream& random, std::int64_t step,
                                const at::Tensor& response_M, const at::Tensor& position_M, const at::Tensor& draw_M) {
  const auto response = response_M.contiguous(), position = position_M.contiguous(), draw = draw_M.contiguous();
  auto uniform = at::empty(response.sizes(), response.options().dtype(at::kDouble));
  check(kernels, kernels.uniform({random.key(), step, response.const_data_ptr<std::int64_t>(),
                                  position.const_data_ptr<std::int64_t>(), draw.const_data_ptr<std::int64_t>(),
                                  uniform.data_ptr<double>(), uniform.numel()},
                                 stream_of(uniform)));
  return uniform;
}

at::Tensor choose_commits_with_kernels(const KernelTable& kernels, const at::Tensor& score_RK, const CommitRule& rule,
                                       const at::Tensor& failed) {
  const auto score = score_RK.contiguous();
  const auto count = rule.by == CommitBy::kCount ? rule.count_R.contiguous() : at::Tensor();
  auto chosen = at::empty(score.sizes(), score.options().dtype(at::kBool));
  check(kernels, kernels.choose_commits(
                     {score.const_data_ptr<float>(), count.defined() ? count.const_data_ptr<std::int64_t>() : nullptr,
                      rule.by == CommitBy::kFactor, rule.threshold, rule.factor, score.size(0), score.size(1),
                      chosen.data_ptr<bool>(), failed.data_ptr<bool>()},
                     stream_of(score)));
  return chosen;
}

}  // namespace drift
