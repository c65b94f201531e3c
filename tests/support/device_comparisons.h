#pragma once

// What a device computes against what the CPU computes, by the same sources. Each function fails the running test where
// they differ. With the CPU itself for a device they run if there is no GPU, so that they are known to work.

#include <c10/core/Device.h>

namespace drift::test {

/// Loss, log-probabilities, metrics and every parameter's gradient of an update of both golden backbones: losses of
/// each coupling with and without entropy, in one pass and in parts, float32 and bfloat16.
void compare_policy_gradients(at::Device device);

/// Scores, entropies and gradients of the fused LM head, float32 and bfloat16.
void compare_heads(at::Device device);

/// Tokens, log-probabilities and confidences that tensor operations on the device draw, against the loops of the CPU.
void compare_sampling(at::Device device);

/// Tokens, steps and log-probabilities that the block rollout writes with both golden backbones, at a temperature and
/// with every kind of remasking.
void compare_rollouts(at::Device device);

/// States and gradients of rows with padding on the left, of which the host knows the length; and states of windows
/// with cached keys, where all rows begin and end together, and where each is at its own place.
void compare_padded_rows(at::Device device);

}  // namespace drift::test
