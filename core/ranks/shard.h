#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace drift {

/// What of a run's state each of several ranks has a part of, instead of all. Each includes those before it.
enum class Shard { kNone, kOptimizer, kGradients, kParameters };

inline constexpr std::array<std::pair<Shard, const char*>, 4> kShards{{{Shard::kNone, "none"},
                                                                       {Shard::kOptimizer, "optimizer"},
                                                                       {Shard::kGradients, "gradients"},
                                                                       {Shard::kParameters, "parameters"}}};

inline std::optional<Shard> shard_named(std::string_view name) {
  for (const auto& [shard, known] : kShards) {
    if (name == known) return shard;
  }
  return std::nullopt;
}

inline const char* name_of(Shard shard) { return kShards.at(static_cast<std::size_t>(shard)).second; }

}  // namespace drift
