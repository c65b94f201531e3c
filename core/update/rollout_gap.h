#pragma once

#include <drift/model.h>
#include <drift/random.h>
#include <drift/trajectories.h>

#include <core/base/unknown.h>
#include <core/ranks/ranks.h>

#include <cstdint>

namespace drift {

/// |log-probability when a token was committed - log-probability in the complete state that training scores|, over some
/// tokens. Rounding if the rollout computed every state whole; more with a cache, or with logits that are not the
/// model's own.
struct RolloutGap {
  double mean = kUnknown;  ///< unknown if no token was measured
  double largest = kUnknown;
};

/// The gap in `count` responses, evenly spread over the rollout: of each the tokens of one denoising step, drawn at
/// RandomPoint{step, response, 0, 0}. One forward of `count` rows, with the weights that wrote them.
RolloutGap rollout_gap(Ranks& ranks, const Model& model, const Trajectories& trajectories, std::int64_t count,
                       const RandomStream& random, std::int64_t step);

}  // namespace drift
