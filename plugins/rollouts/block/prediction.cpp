#include "prediction.h"

#include "guidance.h"

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace drift::block {
namespace {

Confidence confidence_of(Remasking remasking) {
  switch (remasking) {
    case Remasking::kMargin: return Confidence::kMargin;
    case Remasking::kNegativeEntropy: return Confidence::kNegativeEntropy;
    default: return Confidence::kProbability;
  }
}

}  // namespace

Window whole_window(const BlockSettings& settings, std::int64_t prompt_length) {
  const std::int64_t sequence = prompt_length + settings.length;
  return {0, sequence, sequence};
}

Window append_window(const BlockSettings& settings, std::int64_t prompt_length, std::int64_t block_start) {
  const std::int64_t end = prompt_length + block_start + settings.block;
  return {0, end, end};
}

Window block_window(const BlockSettings& settings, PredictionRow prediction_row, std::int64_t prompt_length,
                    std::int64_t block_start) {
  const std::int64_t sequence = prompt_length + settings.length;
  const std::int64_t begin = prompt_length + block_start, end = begin + settings.block;
  Window window{begin, settings.block, sequence};
  if (settings.cache == Cache::kPrefix) {
    window.attended = settings.horizon >= 0 ? std::min(end + settings.horizon, sequence) : sequence;
    window.width = window.attended - begin;
  }
  // The row before predicts the block's first position.
  if (prediction_row == PredictionRow::kPrevious && !settings.quirks.first_position) {
    --window.begin;
    ++window.width;
  }
  return window;
}

Prediction::Prediction(const BlockSettings& settings, const RolloutInput& input)
    : settings_(settings),
      input_(input),
      sequence_(input.prompts.tokens_BP.size(1) + settings.length),
      options_(rollouts::sampling_options(settings, confidence_of(settings.remasking), settings.confidence_of,
                                          input.policy->traits())) {}

std::unique_ptr<KeyValueCache> Prediction::make_cache(std::int64_t rows) const {
  auto cache = input_.policy->make_cache(rows, sequence_);
  if (cache) return cache;
  throw Error("the model family " + input_.policy->traits().family + " keeps no keys and values for later forwards",
              "set rollout.cache = \"none\", or choose a model that has a cache");
}

SampledTokens Prediction::sample(rollouts::DrawRequest request, const Window& window, KeyValueCache* cache) const {
  if (cache == nullptr) return draw(request, {});
  const std::int64_t rows = request.forward.tokens_BS.size(0);
  const auto of_all = [&](std::int64_t value) { return at::full({rows}, value, at::kLong); };
  CacheWindow in_cache;
  in_cache.begin_B = of_all(window.begin);
  if (window.attended < sequence_) in_cache.attended_B = of_all(window.attended);
  in_cache.key_mask_BS = std::exchange(request.forward.key_mask_BS, {});
  return draw(request, {cache, &in_cache});
}

SampledTokens Prediction::draw(const rollouts::DrawRequest& request, const ForwardCache& cache) const {
  if (settings_.forbidden_ids.empty() && settings_.unsure_ids.empty())
    return rollouts::draw_tokens(settings_, input_, request, cache, options_);
  const auto logits_NV = rollouts::draw_logits(settings_, input_, request, cache);
  auto sampled = sample_tokens(logits_NV, request.row_M, request.uniform_M, options_);
  sampled.confidence_M = confidence_without_ids(logits_NV, request, sampled);
  return sampled;
}

// As the originals have it: probabilities of a distribution that lacks the ids, whose own confidence is then 0.
at::Tensor Prediction::confidence_without_ids(const at::Tensor& logits_NV, const rollouts::DrawRequest& request,
                                              const SampledTokens& sampled) const {
  auto left_NV = logits_NV.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  const auto remove = [&](const std::vector<std::int64_t>& ids) {
    for (const std::int64_t id : ids) left_NV.select(1, id).fill_(-std::numeric_limits<float>::infinity());
  };
  remove(settings_.forbidden_ids);
  if (settings_.unsure_ids.empty())
    return sample_tokens(left_NV, request.row_M, request.uniform_M, options_).confidence_M;
  remove(settings_.unsure_ids);
  const auto probability_MV = at::softmax(left_NV, -1).index_select(0, request.row_M.to(left_NV.device()));
  return probability_MV.gather(1, sampled.token_M.unsqueeze(1)).squeeze(1);
}

}  // namespace drift::block
