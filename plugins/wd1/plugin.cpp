// What the plugin `wd1` registers: its loss, and a bundle of it with the masking of plugin `d1`.

#include "wd1.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using Settings = std::vector<BundleSetting>;

ParamSpecs loss_params() {
  return {
      {"positive_only", false, "only raise likelihoods, by the softmax of the advantages"},
      {"micro_batch", 0, "neighbouring responses that share a softmax, 0 = those of a group", at_least(0)},
  };
}

/// Said where a run takes its learning rate from a preset of adapters.
constexpr const char* kAdapterRate =
    "chosen for adapters (LoRA), and Drift trains all weights: set train.learning_rate yourself. Releases that train "
    "all "
    "weights take 1e-6.";

/// The release's train.yaml, d1's in all but the loss, with the four ranks of its scripts: 4 x 2 micro-batches of one
/// group of 6.
Settings settings(std::int64_t inner_iterations) {
  return {
      {"algorithm.masking.p_mask_prompt", 0.15},
      {"algorithm.masking.random_masking", true},
      {"algorithm.loss.positive_only", false},
      {"algorithm.loss.micro_batch", 0},
      {"advantage.baseline", "mean"},
      {"advantage.std", "none"},
      {"advantage.std_floor", 0.0},
      {"advantage.std_epsilon", 0.0},
      {"filter.require_variance", false},
      {"filter.max_groups", 0},
      {"filter.fill", "none"},
      {"train.prompts_per_step", 8},
      {"train.group_size", 6},
      {"train.inner_iterations", inner_iterations},
      {"train.learning_rate", 3e-6},
      {"note.train.learning_rate", kAdapterRate},
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

Bundle bundle() {
  const Settings twelve = settings(12);
  return {
      .name = "wd1",
      .doc = "Log-likelihoods weighed by softmaxes of the advantages, up and down; no ratio and no old policy.",
      .paper = "wd1: Weighted Policy Optimization for Reasoning in Diffusion Language Models",
      .masking = "d1",
      .loss = "wd1",
      .presets = {{"gsm8k", "the release's settings for GSM8K: 12 optimizer steps per rollout", twelve},
                  {"math", "for MATH: 12 optimizer steps per rollout", twelve},
                  {"countdown", "for Countdown: 12 optimizer steps per rollout", twelve},
                  {"sudoku", "for Sudoku: 8 optimizer steps per rollout", settings(8)},
                  {"positive_only", "the variant that only raises likelihoods",
                   changed(twelve, {{"algorithm.loss.positive_only", true}})}},
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("wd1", "1.0.0", "Apache-2.0") {
  registry.add<wd1::WeightedLikelihood>("wd1", "Log-likelihoods weighed by softmaxes of the advantages.",
                                        loss_params());
  registry.add_bundle(bundle());
}
