#pragma once

#include "commit_rule.h"
#include "prediction.h"
#include "quirks.h"
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
  BlockDecoder(const BlockSettings& settings, const Quirks& quirks, const RolloutInput& input, std::int64_t first,
               std::int64_t last, std::int64_t at_once);

  /// Writes the rows of `trajectories` and of `forwards` (already allocated; other rows untouched).
  void run(Trajectories& trajectories, std::vector<RowForwards>& forwards);

 private:
  struct Row {
    std::int64_t index = 0;  ///< in the rollout
    std::vector<std::int64_t> tokens;
    std::vector<std::int32_t> step;
    std::vector<float> logprob;
    std::int64_t forwards = 0;
    std::int64_t block_start = 0;  ///< the length, when the row is done
    std::int64_t block_forwards = 0;
    RowForwards forwards_of_block;
  };
  using Rows = std::vector<Row*>;

  Row new_row(std::int64_t index) const;
  void write(const Row& row, Trajectories& trajectories) const;
  /// One forward for rows at the same block without a cache, all their block's forwards with one.
  void decode_block(const Rows& rows);
  /// The first forward of a block: @return a cache for the rows that are still at it
  std::unique_ptr<KeyValueCache> fill_cache(const Rows& rows);

  /// Rows in the same state: same prompt, same tokens.
  std::vector<Rows> distinct_states(const Rows& rows) const;
  std::vector<std::int64_t> positions_to_predict(const Row& row) const;
  ForwardInput forward_input(const std::vector<Rows>& states, const Window& window) const;
  at::Tensor key_mask(const std::vector<Rows>& states) const;
  /// One forward, and what follows from it.
  void advance(const std::vector<Rows>& states, const Window& window, KeyValueCache* cache);
  SampledTokens sample(const std::vector<Rows>& states, const Window& window, KeyValueCache* cache,
                       const at::Tensor& row_M, const at::Tensor& uniform_M) const;
  std::vector<float> scores(const Row& row, const std::vector<std::int64_t>& masked, const SampledTokens& sampled,
                            std::int64_t offset) const;
  void commit(Row& row, const std::vector<std::int64_t>& masked, const SampledTokens& sampled, std::int64_t offset);
  bool block_ends(const Row& row) const;
  void end_block(Row& row) const;

  const BlockSettings& settings_;
  const Quirks& quirks_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  const std::int64_t first_, last_, at_once_, prompt_length_;
  Prediction prediction_;
  RandomStream remasking_random_, order_random_;
  bool padded_;
};

}  // namespace drift::block
