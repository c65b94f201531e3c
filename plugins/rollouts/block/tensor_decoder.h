#pragma once

#include "device_rows.h"
#include "prediction.h"
#include "settings.h"

#include <drift/commits.h>
#include <drift/rollout.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift::block {

/// By which positions are compared. @param position_RK  in the response
at::Tensor scores(const BlockSettings& settings, const rollouts::DeviceRows& rows, const RandomStream& remasking,
                  const at::Tensor& position_RK, const SampledTokens& sampled);

/// The same decoding as BlockDecoder without quirks, with all state in tensors on the model's device: between two looks
/// the host queues forwards without waiting for their results. With a cache, and by the static schedule, all rows are
/// at the same block: the host then looks only for what it cannot know, how many positions a threshold or a factor left
/// open, and which rows ended early. Otherwise each row proceeds at its own pace, and a look lets those leave that are
/// done.
class TensorDecoder {
 public:
  /// The rows [first, last) of a rollout.
  TensorDecoder(const BlockSettings& settings, const RolloutInput& input, std::int64_t first, std::int64_t last);

  /// Writes the rows of `trajectories` (already allocated; other rows untouched).
  void run(Trajectories& trajectories);

 private:
  using OpenPositions = rollouts::OpenPositions;

  void decode_at_own_pace();
  OpenPositions positions_at_own_pace() const;
  void end_blocks(const OpenPositions& block, const at::Tensor& chosen_RK);

  void decode_block(std::int64_t begin);
  /// Rows whose block has an end token leave, padding behind it.
  void stop_at_end(std::int64_t begin);

  /// One forward. @return bool [R, K], what was committed
  at::Tensor advance(const Window& window, KeyValueCache* cache, const OpenPositions& positions,
                     const CommitRule& rule);
  /// As commits() of commit_rule.h. @param count  by the static schedule
  CommitRule rule(std::int64_t count) const;

  const BlockSettings& settings_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  const Prediction prediction_;
  const RandomStream remasking_random_;
  const Window whole_;
  rollouts::DeviceRows rows_;
  at::Tensor block_begin_R1_;  ///< at their own pace
};

}  // namespace drift::block
