#pragma once

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

enum class Quirks { kNone, kDream };

struct DiffusionSettings {
  std::int64_t length = 0;  ///< L
  std::int64_t steps = 0;
  Order order = Order::kEntropy;
  double order_temperature = 0;  ///< of the choice among positions; 0: the surest
  double temperature = 0;
  std::int64_t top_k = 0;
  double top_p = 1;
  double eps = 0;  ///< where the times end
  double guidance = 0;
  bool early_stop = false;
  std::vector<std::int64_t> forbidden_ids;
  Quirks quirks = Quirks::kNone;
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
  /// Without quirks L positions over the steps, the surplus going to the first ones, at least one at each. Dream cuts
  /// the expected number down to an integer, in float32: with L steps its first commits nothing, and its last two.
  std::int64_t commits(std::int64_t step, std::int64_t masked) const;

 private:
  std::int64_t length_;
  bool dream_;
  std::vector<double> probability_;  // float32 values for Dream
};

}  // namespace drift::diffusion
