#pragma once

// What a training step costs when several processes share it: bytes moved and seconds, by formulas of one line each.
// docs/scale.md explains them and what they leave out.

#include <core/train/training_plan.h>

#include <cstdint>

namespace drift {

/// The work of one training step, all ranks together.
struct StepWork {
  std::int64_t responses = 0, response_length = 0;
  std::int64_t sequence = 0;  ///< tokens of a row: prompt and response
  double forwards = 0;        ///< of a response, in the rollout

  std::int64_t views = 0, scored_tokens = 0;
  std::int64_t forward_rows = 0, backward_rows = 0;
  std::int64_t passes = 0;  ///< that the backward rows are divided into
  std::int64_t optimizer_steps = 0;
  bool recomputes = false;               ///< blocks go forward twice
  std::int64_t rows_scored_at_once = 1;  ///< in a forward without gradients, on each rank
  std::int64_t gap_forwards = 0;         ///< that compare the rollout's log-probabilities
  std::int64_t score_sets = 0;           ///< log-probabilities and entropies that the loss reads at each target

  double token_operations = 0;  ///< of a token's forward through the blocks
  double head_operations = 0;   ///< of a position's forward through the LM head
  double backward_factor = 2;   ///< operations of a backward by those of a forward: 1 with frozen weights

  double weight_bytes = 0;
  double block_bytes = 0;          ///< of these, what the blocks have: what ranks may divide
  double trained_bytes = 0;        ///< of the trained ones, as the model holds them
  double trained_whole_bytes = 0;  ///< of these, what the blocks do not have
  double gradient_bytes = 0;       ///< float32
  double state_bytes = 0;          ///< master weights and moments
  std::int64_t pieces = 0;         ///< that weights and gradients go in: blocks and tables
};

/// @param forwards  of a response; 0: the most that the rollout may need
StepWork step_work(const RunConfig& config, const Model& shapes, const TrainingPlan& plan, double forwards);

/// What each rank has. Bytes and operations a second.
struct RankMachine {
  double rate = 0;         ///< operations of matrix products, as reached
  double memory_rate = 0;  ///< of the device's memory
  double link = 0;         ///< to other ranks, each way
  double latency = 0;      ///< seconds until a message arrives
  /// Standard deviation of a response's forwards, by their mean.
  double spread = 0;
};

/// Bytes that each rank receives in a step, and sends.
struct MovedBytes {
  double rollout_weights = 0;
  double trajectories = 0;
  double log_probabilities = 0;
  double gradients = 0;
  double weights = 0;   ///< in the update: gathered before, or new ones after
  double messages = 0;  ///< collective operations

  double sum() const { return rollout_weights + trajectories + log_probabilities + gradients + weights; }
};

MovedBytes moved_bytes(const StepWork& work, const Sharding& ranks);

struct RankSeconds {
  double rollout = 0;
  double idle = 0;  ///< waiting for the rank whose responses need the most forwards
  double update = 0;
  double optimizer = 0;
  double exchange = 0;

  double total() const { return rollout + idle + update + optimizer + exchange; }
};

/// Exchange is not overlapped with anything, and work is shared evenly by the number of responses and rows.
RankSeconds rank_seconds(const StepWork& work, const Sharding& ranks, const RankMachine& machine);

/// What one rank of several does of the largest optimizer step.
MemoryWork memory_work_of_rank(MemoryWork work, std::int64_t ranks);

}  // namespace drift
