#include "prediction.h"

#include "guidance.h"

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <limits>

namespace drift::block {
namespace {

SamplingOptions sampling_options(const BlockSettings& settings, const Quirks& quirks, const ModelTraits& traits) {
  SamplingOptions options;
  options.temperature = settings.temperature;
  options.top_k = settings.top_k;
  options.top_p = settings.top_p;
  options.confidence_of = settings.confidence_of;
  options.confidence = settings.remasking == Remasking::kMargin            ? Confidence::kMargin
                       : settings.remasking == Remasking::kNegativeEntropy ? Confidence::kNegativeEntropy
                                                                           : Confidence::kProbability;
  if (!quirks.writes_any_id) options.forbidden_ids = traits.forbidden_output_ids;
  for (const std::int64_t id : settings.forbidden_ids) options.forbidden_ids.emplace_back(id, id + 1);
  return options;
}

}  // namespace

Window block_window(const BlockSettings& settings, const Quirks& quirks, PredictionRow prediction_row,
                    std::int64_t prompt_length, std::int64_t block_start) {
  const std::int64_t sequence = prompt_length + settings.length;
  const std::int64_t begin = prompt_length + block_start, end = begin + settings.block;
  Window window{begin, settings.block, sequence};
  if (settings.cache == Cache::kPrefix) {
    window.attended = settings.horizon >= 0 ? std::min(end + settings.horizon, sequence) : sequence;
    window.width = window.attended - begin;
  }
  // The row before predicts the block's first position.
  if (prediction_row == PredictionRow::kPrevious && !quirks.first_position) {
    --window.begin;
    ++window.width;
  }
  return window;
}

Prediction::Prediction(const BlockSettings& settings, const Quirks& quirks, const RolloutInput& input)
    : settings_(settings),
      policy_(*input.policy),
      prompt_length_(input.prompts.tokens_BP.size(1)),
      options_(sampling_options(settings, quirks, policy_.traits())) {}

SampledTokens Prediction::sample(const ForwardInput& forward, const ForwardCache& cache, const at::Tensor& row_M,
                                 const at::Tensor& uniform_M) const {
  const bool plain = settings_.guidance == 0 && settings_.forbidden_ids.empty() && settings_.unsure_ids.empty();
  if (plain) return policy_.sample(forward, cache, row_M, uniform_M, options_);
  const auto logits_NV = settings_.guidance == 0
                             ? policy_.logits(forward, cache)
                             : rollouts::guided_logits(policy_, forward, prompt_length_, settings_.guidance);
  auto sampled = sample_tokens(logits_NV, row_M, uniform_M, options_);
  sampled.confidence_M = confidence_without_ids(logits_NV, row_M, uniform_M, sampled);
  return sampled;
}

// As the originals have it: probabilities of a distribution that lacks the ids, whose own confidence is then 0.
at::Tensor Prediction::confidence_without_ids(const at::Tensor& logits_NV, const at::Tensor& row_M,
                                              const at::Tensor& uniform_M, const SampledTokens& sampled) const {
  auto left_NV = logits_NV.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  const auto remove = [&](const std::vector<std::int64_t>& ids) {
    for (const std::int64_t id : ids) left_NV.select(1, id).fill_(-std::numeric_limits<float>::infinity());
  };
  remove(settings_.forbidden_ids);
  if (settings_.unsure_ids.empty()) return sample_tokens(left_NV, row_M, uniform_M, options_).confidence_M;
  remove(settings_.unsure_ids);
  const auto probability_MV = at::softmax(left_NV, -1).index_select(0, row_M.to(left_NV.device()));
  return probability_MV.gather(1, sampled.token_M.unsqueeze(1)).squeeze(1);
}

void refuse_cache(const ModelTraits& traits) {
  throw Error("the model family " + traits.family + " keeps no keys and values for later forwards",
              "set rollout.cache = \"none\", or choose a model that has a cache");
}

}  // namespace drift::block
