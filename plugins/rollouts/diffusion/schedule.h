#pragma once

#include "decoding_settings.h"

#include <drift/model.h>
#include <drift/sampling.h>

#include <cstdint>
#include <vector>

namespace drift::diffusion {

/// How positions are chosen (`alg` of Dream's generation config; docs/spec/models_rollout.md 3.3).
enum class Order {
  kMaskgitPlus,  ///< the most probable tokens first
  kTopkMargin,   ///< the largest differences between the two most probable tokens first
  kEntropy,      ///< the distributions of least entropy first
  kOrigin,       ///< each position independently, whatever its confidence
};

struct DiffusionSettings : rollouts::DecodingSettings {
  Order order = Order::kEntropy;
  double eps = 0;  ///< where the times end

  bool by_chance() const { return order == Order::kOrigin; }
  /// Of the draw of positions; 0: the surest are first.
  double drawing_temperature() const { return by_chance() ? 0 : order_temperature; }
  SamplingOptions sampling(const ModelTraits& traits) const;
};

/// How many positions are committed when. Times run from 1 to eps in equal steps; at step i a masked position is
/// committed with probability 1 - t(i + 1) / t(i), at the last step surely.
class Schedule {
 public:
  explicit Schedule(const DiffusionSettings& settings);

  std::int64_t steps() const { return static_cast<std::int64_t>(probability_.size()); }

  /// Of order kOrigin.
  double probability(std::int64_t step) const { return probability_[static_cast<std::size_t>(step)]; }

  /// Of the other orders: positions that are committed at `step` if `masked` are left.
  ///
  /// L positions over the steps, the surplus going to the first ones, at least one at each. With `time_grid` the
  /// expected number is cut down to an integer, in float32: with L steps the first commits nothing, and the last two.
  std::int64_t commits(std::int64_t step, std::int64_t masked) const;

 private:
  std::int64_t length_;
  bool time_grid_;
  std::vector<double> probability_;  // float32 values with time_grid
};

}  // namespace drift::diffusion
