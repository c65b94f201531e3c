#pragma once

#include "schedule.h"

#include <drift/rollout.h>
#include <drift/sampling.h>

namespace drift::diffusion {

SamplingOptions sampling_options(const DiffusionSettings& settings, const ModelTraits& traits);

/// Tokens for rows of a forward of entire sequences, as sample_tokens() draws them: with guidance, if there is any.
/// @param uniform_M  not read at temperature 0
SampledTokens draw_tokens(const DiffusionSettings& settings, const RolloutInput& input, const ForwardInput& forward,
                          const at::Tensor& row_M, const at::Tensor& uniform_M, const SamplingOptions& options);

}  // namespace drift::diffusion
