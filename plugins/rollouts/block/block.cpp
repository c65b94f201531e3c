#include "decoder.h"

#include <drift/error.h>
#include <drift/parallel.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <string>

namespace drift::block {
namespace {

// Long enough for full-speed matrix products, short enough that a layer's activations stay in cache.
constexpr std::int64_t kTokensPerForward = 4096;
constexpr std::int64_t kTokensPerForwardOnDevice = 65536;

std::int64_t rows_at_once(std::int64_t sequence, bool on_cpu) {
  return std::max<std::int64_t>(1, (on_cpu ? kTokensPerForward : kTokensPerForwardOnDevice) / sequence);
}

constexpr Choices<Remasking, 4> kRemasking{{{"low_confidence", Remasking::kLowConfidence},
                                            {"margin", Remasking::kMargin},
                                            {"negative_entropy", Remasking::kNegativeEntropy},
                                            {"random", Remasking::kRandom}}};

/// Block-wise decoding with confidence remasking: LLaDA's semi-autoregressive sampler (static schedule) and Fast-dLLM's
/// threshold rule (dynamic), without a cache: every state is computed in full, so training scores what the rollout saw.
class BlockRollout final : public Rollout, public RolloutCostEstimate {
 public:
  explicit BlockRollout(Parameters& parameters);

  std::int64_t response_length() const override { return settings_.length; }
  void generate(const RolloutInput& input, Trajectories& trajectories) const override;
  void estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                     RolloutCost& cost) const override;

 private:
  BlockSettings settings_;
};

BlockRollout::BlockRollout(Parameters& parameters) {
  settings_.length = parameters("length", 256, "response positions, L", at_least(1));
  settings_.block = parameters("block", 32, "positions per block; blocks are decoded from left to right", at_least(1));
  settings_.dynamic =
      parameters("schedule", "dynamic",
                 "dynamic: commit all positions that reach the threshold; static: a fixed number per step",
                 one_of({"dynamic", "static"})) == "dynamic";
  settings_.threshold = parameters(
      "threshold", 0.9, "dynamic: confidence from which a position is committed; the most confident one always is");
  settings_.steps =
      parameters("steps", 0, "static: forwards for the entire response; 0 = one token per forward", at_least(0));
  settings_.remasking = parameters("remasking", kRemasking, Remasking::kLowConfidence, "which positions stay masked");
  settings_.temperature = parameters("temperature", 1.0, "of the token draw; 0 = greedy", at_least(0));
  if (settings_.steps == 0) settings_.steps = settings_.length;
  if (settings_.length % settings_.block != 0) {
    throw Error("rollout.length = " + std::to_string(settings_.length) +
                    " is not a multiple of rollout.block = " + std::to_string(settings_.block),
                "choose a block that divides the length");
  }
}

void BlockRollout::generate(const RolloutInput& input, Trajectories& trajectories) const {
  const std::int64_t responses = input.prompts.tokens_BP.size(0), length = settings_.length;
  trajectories.prompts = input.prompts;
  trajectories.tokens_BL = at::empty({responses, length}, at::kLong);
  trajectories.step_BL = at::empty({responses, length}, at::kInt);
  trajectories.commit_logprob_BL = at::empty({responses, length}, at::kFloat);
  trajectories.forwards_B = at::empty({responses}, at::kLong);

  const auto& traits = input.policy->traits();
  const bool on_cpu = input.policy->device().is_cpu();
  const std::int64_t sequence = input.prompts.tokens_BP.size(1) + length;
  const std::int64_t at_once = rows_at_once(sequence, on_cpu);
  parallel_rows(row_workers(traits.hidden_size, on_cpu), responses,
                [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                  for (std::int64_t first = begin; first < end; first += at_once) {
                    BlockDecoder(settings_, input, first, std::min(end, first + at_once)).run(trajectories);
                  }
                });
  trajectories.valid_BL =
      (trajectories.tokens_BL != traits.pad_id).logical_and(trajectories.tokens_BL != traits.mask_id);
}

void BlockRollout::estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                                 RolloutCost& cost) const {
  const auto& traits = model.traits();
  const std::int64_t blocks = settings_.length / settings_.block;
  cost.least_forwards = settings_.dynamic ? blocks : std::max(settings_.steps, blocks);
  cost.most_forwards = settings_.dynamic ? settings_.length : cost.least_forwards;

  const std::int64_t sequence = prompt_length + settings_.length;
  const std::int64_t workers = row_workers(traits.hidden_size, on_cpu);
  const std::int64_t rows = std::min(responses, workers * rows_at_once(sequence, on_cpu));
  // One layer's activations are alive at a time, and of the logits also their float32 copy and the probabilities.
  const std::int64_t layer = model.training_bytes_per_row(sequence) / std::max<std::int64_t>(1, traits.layers);
  const std::int64_t logits = settings_.block * traits.vocabulary_size * 3 * static_cast<std::int64_t>(sizeof(float));
  cost.bytes = rows * (layer + logits);
}

}  // namespace
}  // namespace drift::block

DRIFT_PLUGIN("block", "0.1.0", "Apache-2.0") {
  registry.add<drift::block::BlockRollout>(
      "block", "Block-wise decoding with confidence remasking, static or with a threshold, without a cache.");
}
