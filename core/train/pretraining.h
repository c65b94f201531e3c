#pragma once

#include <drift/model.h>
#include <drift/random.h>
#include <drift/task.h>

#include <core/components/components.h>
#include <core/config/run_config.h>
#include <core/rollout/prompt_encoder.h>
#include <core/train/training.h>

namespace drift {

/// Masked-diffusion likelihood on a task's demonstrations (docs/spec/further_algorithms.md 7, supervised loss): a mask
/// ratio t uniform in [minimum, 1) for each response, each token masked with probability t, loss = sum of
/// cross-entropies at masked tokens / t / L, averaged over the batch. Responses are filled up to L with the end token,
/// which is learned like any other.
class Pretraining final : public Training {
 public:
  Pretraining(const RunConfig& config, const Model& model, const PromptEncoder& prompts, Loaded<Task> task);

  StepRecord run(std::int64_t step) override;
  std::vector<NamedTensor> state() const override { return optimizer_.state(); }
  std::vector<TensorPart> state_parts() const override { return optimizer_.state_parts(); }
  void load_state(const std::vector<NamedTensor>& state) override { optimizer_.load_state(state); }

 private:
  Trajectories demonstrations(std::int64_t step) const;
  MaskPlan draw_plan(std::int64_t step) const;

  const Model& model_;
  const PromptEncoder& prompts_;
  Loaded<Task> task_;
  Shard shard_;
  Optimizer optimizer_;
  RandomStream random_;
  bool drops_inputs_;  // of adapters
  std::int64_t batch_size_, response_length_, memory_budget_;
  double minimum_mask_ratio_;
};

}  // namespace drift
