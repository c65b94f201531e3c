#pragma once

#include <drift/model.h>

#include <core/config/run_config.h>
#include <core/rollout/prompt_encoder.h>
#include <core/train/memory_plan.h>
#include <core/train/policy_training.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// Prompts as the first steps of a run see them.
struct PromptLengths {
  std::int64_t prompts = 0;  ///< that were looked at
  std::int64_t longest = 0;  ///< tokens
  double mean = 0;
};

/// One update, imagined: every response fills its length and was written from left to right, in as many forwards as the
/// rollout may take.
struct UpdateCost {
  std::int64_t views = 0;            ///< masked contexts
  std::int64_t scored_tokens = 0;    ///< over all of them
  std::int64_t optimizer_steps = 0;  ///< per rollout
  /// Sequences through models: the old and reference policy and the value model included.
  std::int64_t forward_rows = 0;
  std::int64_t backward_rows = 0;  ///< sequences that go backwards through it
  std::int64_t row_tokens = 0;     ///< of the longest of these sequences
  std::int64_t passes = 0;         ///< that they are divided into
  bool recomputes = false;         ///< activations do not fit the budget: blocks are recomputed in the backward
  bool scores_first = false;       ///< nor does that suffice: a coupled unit is scored first, then computed again
};

/// The work and memory of a training run, computed before any weight is read.
struct TrainingPlan {
  std::int64_t parameters = 0, trained = 0;  ///< trained: fewer, where adapters are
  std::int64_t steps = 0, prompts_per_step = 0, group_size = 0;
  std::int64_t response_length = 0;
  PromptLengths prompt_lengths;
  RolloutCost rollout;
  bool rollout_is_known = false;  ///< the rollout plugin tells its cost
  UpdateCost update;
  std::int64_t evaluations = 0, held_out_items = 0;
  std::int64_t checkpoint_bytes = 0, checkpoints = 0;  ///< on disk; one more exists while it is written

  MemoryPlan memory;

  std::int64_t responses() const { return prompts_per_step * group_size; }
};

/// @param shapes  the model on the meta device
/// @param evaluation  the rollout of evaluations, or null
/// @param ranks  the work is that of all of them, the memory that of each
/// @throws Error if a component cannot do its work.
TrainingPlan plan_training(const RunConfig& config, const Model& shapes, const PromptEncoder& prompts,
                           const PolicyComponents& components, const Rollout* evaluation, const Sharding& ranks);

}  // namespace drift
