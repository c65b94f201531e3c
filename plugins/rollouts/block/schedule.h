#pragma once

#include <algorithm>
#include <cstdint>

/// The linear schedule of static decoding: `masked` positions over `steps` forwards; forward `index` commits this many,
/// the surplus going to the first ones (docs/spec/models_rollout.md 3.0, num_transfer). Example: 32 over 5 gives 7, 7,
/// 6, 6, 6.
inline std::int64_t scheduled_commits(std::int64_t masked, std::int64_t steps, std::int64_t index) {
  return masked / steps + (index < masked % steps ? 1 : 0);
}

/// Forwards for block `block` when `steps` are shared out over `blocks`, the surplus going to the first ones.
inline std::int64_t steps_of_block(std::int64_t steps, std::int64_t blocks, std::int64_t block) {
  return std::max<std::int64_t>(1, steps / blocks + (block < steps % blocks ? 1 : 0));
}
