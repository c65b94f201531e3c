#pragma once

#include <drift/loss_estimator.h>
#include <drift/mask_plan.h>
#include <drift/model.h>
#include <drift/random.h>
#include <drift/task.h>

#include <core/boundary/components.h>
#include <core/config/run_config.h>
#include <core/ranks/ranks.h>
#include <core/rollout/prompt_encoder.h>
#include <core/train/pretraining_noise.h>
#include <core/train/training.h>

#include <vector>

namespace drift {

/// Which tokens of a demonstration are masked. A mask ratio t is uniform in [minimum_ratio, maximum_ratio) for each
/// response, and each token of its block is masked with probability t. The block is one of the response's, each as
/// likely; what is before it is clean, what is after it is masked and not scored, as in a block-wise rollout (Blockwise
/// SFT, arXiv:2508.19529).
struct LikelihoodMasks {
  std::int64_t response_length;
  std::int64_t block;  ///< its length; the last one may be shorter
  double minimum_ratio, maximum_ratio = 1;

  /// One view of each of B responses, weighted by 1 / t and the number of blocks: an unbiased estimate of the sum over
  /// all blocks. A function of the stream, the step and the response alone.
  MaskPlan draw(const RandomStream& random, std::int64_t step, std::int64_t responses) const;
};

/// A batch of supervised training.
struct PretrainBatch {
  Trajectories trajectories;
  LearnedTexts texts;
};

/// Responses behind their prompts, all of whose tokens may be masked.
/// @param length  positions of each, filled with `pad_id`, which is learned like any other token; 0: as many as the
/// longest response has, and nothing behind a shorter one
PretrainBatch responses_to_learn(Prompts prompts, const std::vector<std::vector<std::int64_t>>& responses,
                                 std::int64_t length, std::int64_t pad_id);

/// B prompts of no tokens, for texts that are learned from their first token on.
Prompts no_prompts(std::int64_t count);

/// The loss of views that are weighted by token, or else by view, as LikelihoodMasks does.
class PretrainingLoss final : public LossEstimator {
 public:
  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.token_weights = true; }
  Loss evaluate(const LossInput& input) const override;
};

/// Masked-diffusion likelihood on a task's demonstrations (docs/spec/further_algorithms.md 7, supervised loss): loss =
/// sum of cross-entropies at masked tokens * weight / L, averaged over the batch, or NoiseRule's. Responses end with
/// one end token (noise text and complementary), or are filled up to L with them, which are learned like any other.
class Pretraining final : public Training {
 public:
  Pretraining(Ranks& ranks, const RunConfig& config, const Model& model, const PromptEncoder& prompts,
              Loaded<Task> task);

  StepRecord run(std::int64_t step) override;
  std::vector<NamedTensor> state() const override { return optimizer_.state(); }
  std::vector<TensorPart> state_parts() const override { return optimizer_.state_parts(); }
  void load_state(const std::vector<NamedTensor>& state) override { optimizer_.load_state(state); }

 private:
  std::vector<std::int64_t> response_ids(const TaskItem& item) const;
  PretrainBatch batch(std::int64_t step) const;

  Ranks& ranks_;
  const Model& model_;
  const PromptEncoder& prompts_;
  Loaded<Task> task_;
  Shard shard_;
  PretrainSettings settings_;
  Optimizer optimizer_;
  RandomStream random_;
  bool drops_inputs_;  // of adapters
  LikelihoodMasks masks_;
  NoiseRule noise_;
};

}  // namespace drift
