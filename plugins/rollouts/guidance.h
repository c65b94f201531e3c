#pragma once

#include "decoding_settings.h"
#include "rows.h"

#include <drift/policy.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift::rollouts {

/// Logits of the positions to predict: with guidance, if there is any.
at::Tensor draw_logits(const DecodingSettings& settings, const RolloutInput& input, const DrawRequest& request,
                       const ForwardCache& cache);

/// Tokens as sample_tokens() draws them from these logits.
SampledTokens draw_tokens(const DecodingSettings& settings, const RolloutInput& input, const DrawRequest& request,
                          const ForwardCache& cache, const SamplingOptions& options);

}  // namespace drift::rollouts
