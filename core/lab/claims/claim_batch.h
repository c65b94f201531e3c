#pragma once

#include <drift/model.h>
#include <drift/registry.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include <core/boundary/components.h>
#include <core/config/run_config.h>
#include <core/rollout/judge.h>
#include <core/rollout/prompt_encoder.h>
#include <core/train/advantage.h>
#include <core/train/scored_responses.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// The responses of one training step, before anything is learned from them.
struct ClaimBatch {
  std::int64_t number = 0;  ///< from 1: the training step
  Trajectories made;
  at::Tensor entropy_BL;  ///< commit_entropies(); undefined unless asked for
  double rollout_seconds = 0;

  /// The responses of groups whose rewards differ; the others have no gradient.
  Trajectories kept;
  at::Tensor kept_entropy_BL;
  at::Tensor advantage_B;  ///< of the kept
  at::Tensor number_B;     ///< of the kept in the rollout
  std::int64_t groups = 0, live_groups = 0;
};

/// Draws batches as a training run of this configuration does from its checkpoint, with random numbers of its own.
class ClaimBatches {
 public:
  ClaimBatches(RunHost& host, const RunConfig& config, const Model& model, const PromptEncoder& prompts,
               Loaded<Task> task);

  /// @param entropies  costs as many forwards as the rollout
  ClaimBatch draw(std::int64_t number, bool entropies) const;
  std::int64_t group_size() const { return group_size_; }
  const RandomStream& random() const { return random_; }

 private:
  const Model& model_;
  const PromptEncoder& prompts_;
  Loaded<Task> task_;
  Judge judge_;
  Loaded<Rollout> rollout_;
  RandomStream random_;
  AdvantageSettings advantage_;
  RewardSettings score_;
  std::int64_t prompts_per_step_, group_size_;
};

}  // namespace drift
