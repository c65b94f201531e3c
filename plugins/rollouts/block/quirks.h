#pragma once

#include "settings.h"

#include <drift/model.h>
#include <drift/trajectories.h>

#include <cstdint>
#include <vector>

namespace drift::block {

/// What an original does otherwise (docs/spec/models_rollout.md 3.6, 3.7).
struct Quirks {
  bool counts_batch = false;        ///< steps and forwards are those of the batch, whose rows wait for each other
  bool second_forward = false;      ///< at least two forwards a block, even if the first one finished it
  bool all_forwards = false;        ///< always all forwards that the schedule gives a block
  bool goes_back = false;           ///< what earlier blocks left masked may be committed
  bool attends_padding = false;     ///< padding is attended to, and shifts the positions
  bool writes_any_id = false;       ///< also the mask id, which leaves its position masked
  bool ends_on_schedule = false;    ///< a block's last scheduled forward ends it, whatever is still masked
  bool highest_entropy = false;     ///< negative_entropy with the wrong sign
  bool first_position = false;      ///< a block's first forward commits its first position only
  bool time_grid = false;           ///< the static schedule by Dream's times
  bool last_rank = false;           ///< factor: if only the last rank fails, it is committed as well
  bool padding_ends_batch = false;  ///< a block of padding in every row ends them all
};

Quirks quirks_of(Original original, PredictionRow prediction_row, Cache cache);

/// Forwards that a row had in each of its blocks.
using RowForwards = std::vector<std::int64_t>;

/// Turns a record in which each row counts its own forwards into the originals', where the rows of a batch wait for
/// each other at the end of every block and each forward of the batch counts.
void count_over_batch(const std::vector<RowForwards>& rows, const BlockSettings& settings, const Quirks& quirks,
                      std::int64_t pad_id, Trajectories& made);

}  // namespace drift::block
