#pragma once

#include <core/config/training_settings.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// A = (r - baseline) / max(deviation + epsilon, floor), group by group; 0 throughout a group of equal rewards, a group
/// of one included (docs/spec/algorithms.md 1.6).
/// @param rewards_B   any floating type; the `group_size` responses of a group are adjacent.
/// @return float32 [B], on the CPU.
at::Tensor advantages(const at::Tensor& rewards_B, std::int64_t group_size, const AdvantageSettings& settings);

}  // namespace drift
