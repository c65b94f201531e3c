// What the plugin `d1` registers: the algorithm, its options, and the settings of the release.

#include "d1.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::d1;
using Settings = std::vector<BundleSetting>;

ParamSpecs masking_params() {
  return {
      {"p_mask_prompt", 0.15, "probability that a prompt token is masked; 0 shows the whole prompt", between(0, 1)},
      {"random_masking", true, "draw new masks for every optimizer step; false: the same ones in the whole run"},
      {"mask_post_eos_keys", false, "no position attends to what follows the end token, as the port in dllm has it"},
      {"end_id", -1, "token that ends the valid part of a response, itself valid; -1 = the model's end token",
       at_least(-1)},
  };
}

ParamSpecs loss_params() {
  return joined({RatioClip::params(0.5, 0.5), KlTerm::params(0.04, "k3"), LossNorm::params("token")});
}

/// Said where a run takes its learning rate from a preset of adapters.
constexpr const char* kAdapterRate =
    "chosen for adapters (LoRA), and Drift trains all weights: set train.learning_rate yourself. Releases that train "
    "all "
    "weights take 1e-6.";

Settings for_adapters(Settings settings) {
  return changed(std::move(settings), {{"note.train.learning_rate", kAdapterRate}});
}

/// train.yaml with accelerate's eight ranks: 8 x 2 micro-batches of one group of 6.
Settings train() {
  return {
      {"algorithm.masking.p_mask_prompt", 0.15},
      {"algorithm.masking.random_masking", true},
      {"algorithm.loss.eps_low", 0.5},
      {"algorithm.loss.eps_high", 0.5},
      {"algorithm.loss.beta", 0.04},
      {"algorithm.loss.kl", "k3"},
      {"algorithm.loss.norm", "token"},
      {"algorithm.loss.micro_batch", 6},
      {"advantage.baseline", "mean"},
      {"advantage.std", "none"},
      {"advantage.std_floor", 0.0},
      {"advantage.std_epsilon", 0.0},
      {"filter.require_variance", false},
      {"filter.max_groups", 0},
      {"filter.fill", "none"},
      {"reference.policy", "frozen"},
      {"train.prompts_per_step", 16},
      {"train.group_size", 6},
      {"train.inner_iterations", 12},
      {"train.learning_rate", 3e-6},
      {"train.schedule", "constant"},
      {"train.warmup_steps", 0},
      {"train.beta1", 0.9},
      {"train.beta2", 0.99},
      {"train.weight_decay", 0.1},
      {"train.gradient_clip", 0.2},
      {"rollout.length", 256},
      {"rollout.block", 32},
      {"rollout.schedule", "static"},
      {"rollout.steps", 128},
      {"rollout.remasking", "low_confidence"},
      {"rollout.temperature", 0.9},
  };
}

Settings iterations(std::int64_t mu) { return for_adapters(changed(train(), {{"train.inner_iterations", mu}})); }

/// diffu_grpo_config.py: what a run gets that sets nothing. Its optimizer is the trainer's, and its batch: 8 responses
/// a device, not accumulated.
Settings class_defaults() {
  return changed(train(), {
                              {"algorithm.masking.p_mask_prompt", 0.3},
                              {"algorithm.loss.eps_low", 0.2},
                              {"algorithm.loss.eps_high", 0.2},
                              {"algorithm.loss.micro_batch", 8},
                              {"train.prompts_per_step", 8},
                              {"train.group_size", 8},
                              {"train.inner_iterations", 1},
                              {"train.learning_rate", 1e-6},
                              {"train.schedule", "linear"},
                              {"train.final_fraction", 0.0},
                              {"train.beta2", 0.999},
                              {"train.weight_decay", 0.0},
                              {"train.gradient_clip", 1.0},
                              {"rollout.block", 64},
                              {"rollout.steps", 64},
                          });
}

Bundle bundle() {
  return {
      .name = "d1",
      .doc = "diffu-GRPO: all tokens scored at once from a fully masked response and a randomly masked prompt.",
      .paper = "d1: Scaling Reasoning in Diffusion Large Language Models via Reinforcement Learning",
      .masking = "d1",
      .loss = "d1",
      .presets = {{"train", "the release's train.yaml", for_adapters(train())},
                  {"gsm8k", "the release's script for GSM8K: 12 optimizer steps per rollout", iterations(12)},
                  {"math", "the release's script for MATH: 12 optimizer steps per rollout", iterations(12)},
                  {"countdown", "the release's script for Countdown: 8 optimizer steps per rollout", iterations(8)},
                  {"sudoku", "the release's script for Sudoku: 8 optimizer steps per rollout", iterations(8)},
                  {"sudoku_run_sh", "the release's run.sh for Sudoku: 12 optimizer steps per rollout", iterations(12)},
                  {"class_defaults", "the trainer's defaults, where no file sets a value", class_defaults()}},
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("d1", "1.0.0", "Apache-2.0") {
  registry.add<PromptMasking>("d1", "One view: the whole response masked, each prompt token with a probability.",
                              masking_params());
  registry.add<TokenLoss>("d1", "Clipped ratio of every valid token, plus KL.", loss_params());
  registry.add_bundle(bundle());
}
