#pragma once

#include <drift/policy.h>
#include <drift/trajectories.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace drift {

/// Tokens that were not chosen, with their probabilities, the most likely first.
using TokenProbabilities = std::vector<std::pair<std::int64_t, double>>;

/// For each position of response b: the `count` most likely other tokens in the state that the position was committed
/// from. That state is computed in full: a rollout that took keys from a cache saw it otherwise. Nothing where a
/// position was never committed. The caller disables gradients.
std::vector<TokenProbabilities> runners_up(const Policy& policy, const Trajectories& made, std::int64_t b,
                                           std::int64_t count);

}  // namespace drift
