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

  bool cancelled() const { return input_.cancelled && input_.cancelled->load(); }
  void decode_whole_sequences();
  void decode_with_cache(std::int64_t block_begin);
  /// @param only_begin  rows at another block wait; negative: none does
  Block block_of_rows(std::int64_t only_begin) const;
  /// @param block_begin  of the rows that take part, with a cache
  void advance(const Window& window, KeyValueCache* cache, std::int64_t block_begin);
  at::Tensor scores(const Block& block, const SampledTokens& sampled) const;
  CommitRule rule() const;
  void commit(const Block& block, const SampledTokens& sampled, const at::Tensor& score_RK);
  void end_blocks(const Block& block, const at::Tensor& open_RK);
  at::Tensor uniforms(const RandomStream& random, const Block& block) const;
  /// The only place where the host waits. @return whether rows are left
  bool look();

  const BlockSettings& settings_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  const Quirks quirks_;
  const std::int64_t prompt_length_;
  Prediction prediction_;
  RandomStream remasking_random_, order_random_;
  rollouts::DeviceRows rows_;
  State state_;
  Trajectories* made_ = nullptr;
};

}  // namespace drift::block
