#pragma once

#include <array>
#include <cstddef>
#include <utility>

namespace drift {

/// What of a run's state each of several ranks has a part of, instead of all. Each includes those before it.
enum class Shard { kNone, kOptimizer, kGradients, kParameters };

/// As distributed.shard says it.
inline constexpr std::array<std::pair<const char*, Shard>, 4> kShards{{{"none", Shard::kNone},
                                                                       {"optimizer", Shard::kOptimizer},
                                                                       {"gradients", Shard::kGradients},
                                                                       {"parameters", Shard::kParameters}}};

inline const char* name_of(Shard shard) { return kShards.at(static_cast<std::size_t>(shard)).first; }

}  // namespace drift
