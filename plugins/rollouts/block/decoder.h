#pragma once

#include "batch_count.h"
#include "commit_rule.h"
#include "host_rows.h"
#include "prediction.h"
#include "settings.h"

#include <drift/rollout.h>
#include <drift/sampling.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace drift::block {

/// Decodes the rows [first, last) of a rollout, `at_once` at a time: rows that are done leave, waiting ones take their
/// place. Without a cache each row proceeds at its own pace; with one, the rows of a forward are at the same block,
/// whose first forward fills the cache for the others. Rows in the same state share a forward over the whole sequence.
class BlockDecoder {
 public:
  BlockDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first, std::int64_t last,
               std::int64_t at_once);

  /// Writes the rows of `trajectories` and of `forwards` (already allocated; other rows untouched).
  void run(Trajectories& trajectories, std::vector<RowForwards>& forwards);

 private:
  struct Row : rollouts::HostRow {
    using rollouts::HostRow::HostRow;
    std::int64_t block_start = 0;  ///< the length, when the row is done
    std::int64_t block_forwards = 0;
    RowForwards forwards_of_block;
  };
  using Rows = std::vector<Row*>;
  using Turns = std::vector<rollouts::Turn>;

  /// One forward for rows without a cache, all their block's forwards with one.
  void decode_block(const Rows& rows);
  /// Of rows without a cache; with `append` they are at the same block.
  Window window_of(const Rows& rows) const;
  /// The first forward of a block: @return a cache for the rows that are still at it
  std::unique_ptr<KeyValueCache> fill_cache(const Rows& rows);

  std::vector<std::int64_t> positions_to_predict(const Row& row) const;
  Turns turns_of(const Rows& rows) const;
  /// One forward, and what follows from it. @param states  of the turns of these rows
  void advance(const Rows& rows, const Turns& turns, const std::vector<rollouts::State>& states, const Window& window,
               KeyValueCache* cache);
  std::vector<float> scores(const rollouts::Turn& turn, const SampledTokens& sampled) const;
  void commit(Row& row, const rollouts::Turn& turn, const SampledTokens& sampled);
  bool block_ends(const Row& row) const;
  void end_block(Row& row) const;

  const BlockSettings& settings_;
  const Quirks& quirks_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  const std::int64_t first_, last_, at_once_, prompt_length_;
  const Prediction prediction_;
  const rollouts::HostRows host_;
  const RandomStream remasking_random_;
};

}  // namespace drift::block
