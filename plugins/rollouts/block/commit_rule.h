#pragma once

#include "settings.h"

#include <drift/commits.h>

#include <cstdint>
#include <vector>

namespace drift::block {

/// Where a row is within its block.
struct BlockProgress {
  std::int64_t number = 0;    ///< of the block
  std::int64_t masked = 0;    ///< positions that were masked when it began
  std::int64_t forwards = 0;  ///< that it has had
};

/// How many of the masked positions are committed now, the surest first.
///
/// @param scores  descending, one for each masked position; not empty
std::int64_t commits(const BlockSettings& settings, const BlockProgress& progress, const std::vector<float>& scores);

/// On a model with block attention: of a block's forward number t at least so many positions are committed; behind the
/// last entry as many as it says.
std::vector<std::int64_t> block_plan(const BlockSettings& settings);

/// The rule of such a forward. @param least_R  int64, of the plan
CommitRule block_rule(const BlockSettings& settings, const at::Tensor& least_R, const at::Tensor& score_RK,
                      const at::Tensor& open_RK);

/// Of a forward of block number `index`, by the static schedule without quirks.
std::int64_t scheduled_commits(const BlockSettings& settings, std::int64_t index, std::int64_t forward);

}  // namespace drift::block
