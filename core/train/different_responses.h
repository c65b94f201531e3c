#pragma once

#include <drift/rollout.h>
#include <drift/trajectories.h>

#include <cstdint>

namespace drift {

/// Whether all responses of every group are equal, tokens and steps, and could only be so by a chance of less than
/// e^-surprisal, had each of them been drawn with the log-probabilities that it recorded. In one denoising step, the
/// tokens that it commits are drawn independently, and which of the drawn tokens are committed is part of what must
/// be equal. So the chance that another response is equal is at most the product of their probabilities, and for a
/// group it is that to the power of the others in it.
bool equal_against_chance(const Trajectories& made, std::int64_t group_size, double surprisal);

/// @throws Error that names the plugin if a rollout at a temperature above 0 writes equal responses in every group
/// because it does not draw. Recorded log-probabilities, at temperature 1 and over all ids, only raise the suspicion:
/// a low temperature, top_k or forbidden ids can make certain what was unlikely. The proof is that the first group's
/// responses are also equal from a model to which all tokens are equally likely; the model itself does not run.
void require_different_responses(const Rollout& rollout, const RolloutInput& input, const Trajectories& made,
                                 std::int64_t group_size);

}  // namespace drift
