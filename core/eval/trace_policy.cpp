#include <core/eval/trace_policy.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <string>

namespace drift {

at::Tensor TracePolicy::logits(const ForwardInput& input, const ForwardCache& cache) const {
  tell(input, cache);
  return policy_.logits(input, cache);
}

// A forward keeps its keys if nothing is masked, or if nothing has changed since the last.
void TracePolicy::tell(const ForwardInput& input, const ForwardCache& cache) const {
  const std::lock_guard lock(mutex_);
  std::int64_t begin = 0, end = input.tokens_BS.size(1);
  if (cache.window != nullptr) {
    begin = cache.window->begin_B[0].item<std::int64_t>();
    end += begin;
    if (const auto& attended_B = cache.window->attended_B; attended_B.defined())
      end = std::min(end, attended_B[0].item<std::int64_t>());
  }
  const auto tokens_W = input.tokens_BS[0].narrow(0, 0, end - begin).cpu();
  const std::int64_t masks = (tokens_W == traits().mask_id).sum().item<std::int64_t>();
  const bool same = !calls_.empty() && calls_.back()[0] == begin && at::equal(last_W_, tokens_W);
  calls_.push_back({begin, end, masks == 0 || same ? 1 : 0, masks});
  last_W_ = tokens_W;
}

at::Tensor TracePolicy::wanted(const ForwardInput& input, const at::Tensor& logits_NV, const at::Tensor& row_M) const {
  const auto& token_FK = draws_.token_FK;
  const auto is_denoising = [](const Call& call) { return call[2] == 0; };
  if (token_FK.defined() && is_denoising(calls_.back())) {
    const auto forward = std::ranges::count_if(calls_, is_denoising) - 1;
    if (forward >= token_FK.size(0) || input.tokens_BS.size(1) != token_FK.size(1)) {
      throw Error("the trace has draws of " + std::to_string(token_FK.size(0)) + " forwards of " +
                      std::to_string(token_FK.size(1)) + " positions, and the decoder's forward " +
                      std::to_string(forward) + " has " + std::to_string(input.tokens_BS.size(1)),
                  "its settings are not those of the trace");
    }
    const auto place_M = input.rows_N.index_select(0, row_M.to(input.rows_N.device())).cpu();
    return token_FK[forward].index_select(0, place_M).to(logits_NV.device());
  }
  return logits_NV.argmax(-1).index_select(0, row_M.to(logits_NV.device()));
}

SampledTokens TracePolicy::sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                                  const at::Tensor& uniform_M, const SamplingOptions& options) const {
  tell(input, cache);
  if (options.temperature == 0 || (!draws_.most_probable && !draws_.token_FK.defined()))
    return policy_.sample(input, cache, row_M, uniform_M, options);
  const auto logits_NV = policy_.logits(input, cache);
  const auto wanted_M = wanted(input, logits_NV, row_M);
  auto low_M = at::zeros_like(uniform_M), high_M = at::ones_like(uniform_M);
  // Sampling by inversion: a larger number draws a larger id.
  constexpr int kHalvings = 52;
  for (int halving = 0; halving < kHalvings; ++halving) {
    const auto middle_M = (low_M + high_M) / 2;
    const auto token_M = sample_tokens(logits_NV, row_M, middle_M, options).token_M;
    const auto found_M = token_M == wanted_M;
    low_M = at::where(found_M | (token_M < wanted_M), middle_M, low_M);
    high_M = at::where(found_M | (token_M > wanted_M), middle_M, high_M);
  }
  return sample_tokens(logits_NV, row_M, (low_M + high_M) / 2, options);
}

}  // namespace drift
