#pragma once

#include "settings.h"

#include <drift/trajectories.h>

#include <cstdint>
#include <vector>

namespace drift::block {

/// Forwards that a row had in each of its blocks.
using RowForwards = std::vector<std::int64_t>;

/// Turns a record in which each row counts its own forwards into that of decoders whose rows wait for each other at the
/// end of every block, and where each forward of the batch counts.
void count_over_batch(const std::vector<RowForwards>& rows, const BlockSettings& settings, std::int64_t pad_id,
                      Trajectories& made);

}  // namespace drift::block
