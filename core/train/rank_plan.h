#pragma once

#include <core/train/training_plan.h>

#include <cstdint>

namespace drift {

/// What decides how many bytes the ranks of a run exchange in a step; all ranks together.
struct ExchangeWork {
  double gradient_bytes = 0;       ///< float32
  double block_bytes = 0;          ///< weights of the blocks: what ranks may divide
  double trained_bytes = 0;        ///< weights that are trained
  double trained_whole_bytes = 0;  ///< of these, what the blocks do not have
  std::int64_t optimizer_steps = 0;
  std::int64_t passes = 0;             ///< that the rows of the update are divided into
  std::int64_t scored_rows = 0;        ///< rows that go forward without gradients
  std::int64_t rows_of_a_forward = 1;  ///< of these, in a forward of one rank
  std::int64_t gap_forwards = 0;       ///< that compare the rollout's log-probabilities
  std::int64_t rollout_forwards = 0;   ///< of a response, at most
};

ExchangeWork exchange_work(const RunConfig& config, const Model& shapes, const TrainingPlan& plan);

/// Bytes that each rank receives in a step, and sends. The trajectories and log-probabilities that go to all ranks are
/// few beside these, and not counted.
struct ExchangedBytes {
  double gradients = 0;
  double weights = 0;  ///< in the update: gathered before, or new ones after
  double rollout_weights = 0;
};

ExchangedBytes exchanged_bytes(const ExchangeWork& work, const Sharding& ranks);

}  // namespace drift
