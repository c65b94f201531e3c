#include <core/rollout/watched_policy.h>

#include <algorithm>

namespace drift {

WatchedPolicy::WatchedPolicy(const Policy& policy, std::int64_t prompt, std::int64_t length, Watch watch)
    : policy_(policy),
      prompt_(prompt),
      watch_(std::move(watch)),
      tokens_(static_cast<std::size_t>(length), policy.traits().mask_id) {}

at::Tensor WatchedPolicy::logits(const ForwardInput& input, const ForwardCache& cache) const {
  tell(input, cache);
  return policy_.logits(input, cache);
}

SampledTokens WatchedPolicy::sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                                    const at::Tensor& uniform_M, const SamplingOptions& options) const {
  tell(input, cache);
  return policy_.sample(input, cache, row_M, uniform_M, options);
}

void WatchedPolicy::tell(const ForwardInput& input, const ForwardCache& cache) const {
  const std::lock_guard lock(mutex_);
  // Further rows, as those without a prompt for guidance, have the same response.
  const auto row_S = input.tokens_BS[0].cpu();
  std::int64_t begin = 0;
  if (cache.window != nullptr && cache.window->begin_B.defined()) begin = cache.window->begin_B[0].item<std::int64_t>();
  const std::int64_t end = prompt_ + static_cast<std::int64_t>(tokens_.size());
  // The last block of a model with blocks may end behind the response.
  const std::int64_t width = cache.window != nullptr ? std::min(row_S.size(0), end - begin) : row_S.size(0);
  if (width <= 0 || begin + width > end || begin + width <= prompt_) return;  // the prompt alone, or something else
  for (std::int64_t s = std::max<std::int64_t>(0, prompt_ - begin); s < width; ++s)
    tokens_[static_cast<std::size_t>(begin + s - prompt_)] = row_S[s].item<std::int64_t>();
  watch_(tokens_);
}

}  // namespace drift
