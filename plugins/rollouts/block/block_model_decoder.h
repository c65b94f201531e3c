#pragma once

#include "device_rows.h"
#include "prediction.h"
#include "settings.h"

#include <drift/cached_forward.h>
#include <drift/rollout.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace drift::block {

/// Decoding for a model with block attention: blocks count from a row's first token, and the keys of those before the
/// current one are kept, which is exact. A block has forwards over its positions alone, until none is masked, and one
/// more that keeps its keys. A model whose row j - 1 predicts position j draws the next block's first token from that
/// one, or from the prompt's.
///
/// On a CPU the forward that keeps a block is also the next block's first, where all rows are at this.
///
/// All state is in tensors on the model's device, and each row is at its own block: where one denoises, another may
/// keep its keys. A look lets rows leave that are done.
class BlockModelDecoder {
 public:
  /// The rows [first, last) of a rollout. @param settings  on the model
  BlockModelDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first, std::int64_t last);

  /// Writes the rows of `trajectories` (already allocated; other rows untouched). `step_BL` counts the forwards that
  /// drew a token for the row, `forwards_B` all.
  void run(Trajectories& trajectories);

 private:
  /// What a forward computes of each row, and may commit.
  struct Turn {
    at::Tensor begin_R1;           ///< of the window, in the padded row
    std::int64_t width = 0;        ///< of the window
    at::Tensor place_RK, open_RK;  ///< from the block's begin
    at::Tensor offset_R1;          ///< of the window in the block; undefined: 0
  };

  void start();
  void prefill(std::int64_t end);
  void advance();
  void forward(const Turn& turn);
  void draw(const Turn& turn, const rollouts::DrawRequest& request, const ForwardCache& cache);
  /// The whole blocks of some rows and the small ones of others: rows without a part in it compute what nobody sees.
  void forward_by_small_blocks(const Turn& turn);
  /// Rows whose block is kept go to the next.
  void move_on(const at::Tensor& stores_R1);
  void finish(const at::Tensor& complete_R1);
  void leave();

  bool looks_are_free() const { return rows_.row_R.is_cpu(); }
  bool predicts_next() const { return traits_.prediction_row == PredictionRow::kPrevious; }
  Turn turn() const;
  at::Tensor open_in_block() const;
  at::Tensor stops_in_block(bool at_once) const;
  at::Tensor places(std::int64_t count) const { return rows_.number_M.narrow(0, 0, count); }

  const RolloutInput& input_;
  const ModelTraits& traits_;
  const BlockSettings settings_;  ///< the length is that of the rows: room for the last block's end, and one more
  const std::int64_t length_;     ///< of the responses
  const Prediction prediction_;
  const RandomStream remasking_random_;
  rollouts::DeviceRows rows_;
  /// Where all rows are about to keep a block, its forward is also the first of the next one.
  bool may_join_ = false;
  at::Tensor plan_T_;                  ///< least commits of a block's forward number t
  at::Tensor begin_R1_, end_R1_;       ///< of the current block and of the text, in the padded row
  at::Tensor turns_R1_, forwards_R1_;  ///< of the block, without the one that keeps it; all
  at::Tensor open_RW_, done_R1_;       ///< of the block's positions: may be committed
  std::unique_ptr<KeyValueCache> cache_;
};

}  // namespace drift::block
