#pragma once

#include "device_rows.h"
#include "prediction.h"
#include "settings.h"

#include <drift/commits.h>
#include <drift/rollout.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace drift::block {

/// The same decoding as BlockDecoder without quirks, with all state in tensors on the model's device: between two looks
/// the host queues forwards without waiting for their results. A look finds rows that are done and lets them leave.
class TensorDecoder {
 public:
  /// The rows [first, last) of a rollout.
  TensorDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first, std::int64_t last);

  /// Writes the rows of `trajectories` (already allocated; other rows untouched).
  void run(Trajectories& trajectories);

 private:
  /// What rows have besides what every rollout's have.
  struct State {
    at::Tensor block_begin_R, block_forwards_R;
  };

  /// The positions of each row's block, [R, block], and which of them are still masked.
  struct Block {
    at::Tensor position_RK, open_RK;
  };

  void decode_whole_sequences();
  void decode_with_cache(std::int64_t block_begin);
  /// @param only_begin  rows at another block wait; negative: none does
  Block block_of_rows(std::int64_t only_begin) const;
  /// @param block_begin  of the rows that take part, with a cache
  void advance(const Window& window, KeyValueCache* cache, std::int64_t block_begin);
  at::Tensor scores(const Block& block, const SampledTokens& sampled) const;
  CommitRule rule() const;
  void commit(const Block& block, const SampledTokens& sampled);
  void end_blocks(const Block& block, const at::Tensor& open_RK);
  at::Tensor step_R1() const { return rows_.forwards_R.unsqueeze(1); }
  /// @return whether rows are left
  bool look();

  const BlockSettings& settings_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  const std::int64_t prompt_length_;
  const Prediction prediction_;
  const RandomStream remasking_random_;
  at::Tensor scheduled_;  ///< scheduled_commits(), static only
  rollouts::DeviceRows rows_;
  State state_;
  Trajectories* made_ = nullptr;
};

}  // namespace drift::block
