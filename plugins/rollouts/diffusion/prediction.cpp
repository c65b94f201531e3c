#include "prediction.h"

#include "guidance.h"

namespace drift::diffusion {
namespace {

Confidence confidence_of(Order order) {
  switch (order) {
    case Order::kTopkMargin: return Confidence::kMargin;
    case Order::kEntropy: return Confidence::kNegativeEntropy;
    default: return Confidence::kProbability;
  }
}

}  // namespace

SamplingOptions sampling_options(const DiffusionSettings& settings, const ModelTraits& traits) {
  SamplingOptions options;
  options.temperature = settings.temperature;
  options.confidence = confidence_of(settings.order);
  options.confidence_of = ConfidenceOf::kDraw;
  options.top_k = settings.top_k;
  options.top_p = settings.top_p;
  if (settings.quirks != Quirks::kDream) options.forbidden_ids = traits.forbidden_output_ids;
  for (const std::int64_t id : settings.forbidden_ids) options.forbidden_ids.emplace_back(id, id + 1);
  return options;
}

SampledTokens draw_tokens(const DiffusionSettings& settings, const RolloutInput& input, const ForwardInput& forward,
                          const at::Tensor& row_M, const at::Tensor& uniform_M, const SamplingOptions& options) {
  if (settings.guidance == 0) return input.policy->sample(forward, {}, row_M, uniform_M, options);
  const std::int64_t prompt_length = input.prompts.tokens_BP.size(1);
  const auto logits_NV = rollouts::guided_logits(*input.policy, forward, prompt_length, settings.guidance);
  return sample_tokens(logits_NV, row_M, uniform_M, options);
}

}  // namespace drift::diffusion
