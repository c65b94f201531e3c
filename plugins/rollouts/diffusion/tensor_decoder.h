#pragma once

#include "device_rows.h"
#include "schedule.h"

#include <drift/rollout.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift::diffusion {

/// The same decoding as DiffusionDecoder without quirks, with all state in tensors on the model's device: between two
/// looks the host queues forwards without waiting for their results. A look finds rows that are done and lets them
/// leave.
class TensorDecoder {
 public:
  /// The rows [first, last) of a rollout.
  TensorDecoder(const DiffusionSettings& settings, const Schedule& schedule, const RolloutInput& input,
                std::int64_t first, std::int64_t last);

  /// Writes the rows of `trajectories` (already allocated; other rows untouched).
  void run(Trajectories& trajectories);

 private:
  /// What a step commits: `commits` of these positions of a row.
  struct Turn {
    rollouts::OpenPositions positions;
    std::int64_t commits;
  };

  /// Chance does not see tokens: the host knows the step at which it commits each position.
  void draw_chances();
  Turn turn(std::int64_t step) const;
  void commit(const Turn& turn, std::int64_t step);
  void stop_at_end();
  void leave();

  const DiffusionSettings& settings_;
  const Schedule& schedule_;
  const RolloutInput& input_;
  const ModelTraits& traits_;
  const SamplingOptions sampling_;
  std::int64_t committed_ = 0;  ///< positions of each row that has not stopped, unless chance decides
  rollouts::DeviceRows rows_;
  at::Tensor stopped_R_;
  at::Tensor chance_RL_;                 ///< by chance only: the steps
  std::vector<std::int64_t> by_chance_;  ///< of each step: the most commits of a row
};

}  // namespace drift::diffusion
