// What the plugin `espo` registers: the algorithm, its options, and the settings of the release.

#include "espo.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::espo;
using Settings = std::vector<BundleSetting>;

ParamSpecs masking_params() {
  return {
      {"num_mc", 1, "Monte Carlo samples of the ELBO, M", between(1, 1024)},
      {"coupled", true, "a second view for each mask, with the complement masked"},
      {"micro_batch", 0, "responses over which the sizes of the masks are spread evenly, 0 = all", at_least(0)},
  };
}

ParamSpecs loss_params() {
  const ParamSpecs own = {
      {"length", "gen_len", "what the ELBO adds up and is divided by: all positions, or valid tokens only",
       one_of({"gen_len", "valid"})},
  };
  return joined({own, RatioClip::params(0.2, 0.2), KlTerm::params(0.01, "k2")});
}

/// Said where a run takes its learning rate from a preset of adapters.
constexpr const char* kAdapterRate =
    "chosen for adapters (LoRA), and Drift trains all weights: set train.learning_rate yourself. Releases that train "
    "all "
    "weights take 1e-6.";

Settings for_adapters(Settings settings) {
  return changed(std::move(settings), {{"note.train.learning_rate", kAdapterRate}});
}

/// The release's train.yaml. It names no number of ranks: eight, as its scripts have.
Settings train() {
  return {
      {"algorithm.masking.num_mc", 1},
      {"algorithm.masking.coupled", true},
      {"algorithm.masking.micro_batch", 2},
      {"algorithm.loss.eps_low", 0.2},
      {"algorithm.loss.eps_high", 0.2},
      {"algorithm.loss.beta", 0.01},
      {"algorithm.loss.kl", "k2"},
      {"algorithm.loss.length", "gen_len"},
      {"advantage.baseline", "leave_one_out"},
      {"advantage.std", "none"},
      {"advantage.std_floor", 0.0},
      {"advantage.std_epsilon", 0.0},
      {"filter.require_variance", false},
      {"filter.max_groups", 0},
      {"filter.fill", "none"},
      {"reference.policy", "frozen"},
      {"train.prompts_per_step", 8},
      {"train.group_size", 10},
      {"train.inner_iterations", 2},
      {"train.learning_rate", 1e-6},
      {"train.schedule", "cosine"},
      {"train.final_fraction", 0.1},
      {"train.warmup_steps", 0},
      {"train.beta1", 0.9},
      {"train.beta2", 0.99},
      {"train.weight_decay", 0.1},
      {"train.gradient_clip", 0.2},
      {"rollout.length", 256},
      {"rollout.block", 32},
      {"rollout.schedule", "static"},
      {"rollout.steps", 256},
      {"rollout.remasking", "low_confidence"},
      {"rollout.temperature", 1.0},
  };
}

/// What the scripts for the tasks have in common; G = 6 in three of them.
Settings gsm8k() {
  return changed(train(), {
                              {"algorithm.masking.num_mc", 2},
                              {"algorithm.masking.micro_batch", 3},
                              {"algorithm.loss.beta", 1e-3},
                              {"train.prompts_per_step", 16},
                              {"train.group_size", 6},
                              {"train.inner_iterations", 8},
                              {"train.learning_rate", 3e-6},
                              {"train.schedule", "constant"},
                              {"train.weight_decay", 0.01},
                          });
}

Settings math() { return changed(gsm8k(), {{"algorithm.masking.micro_batch", 2}, {"train.group_size", 16}}); }

Settings countdown() {
  return changed(gsm8k(), {
                              {"algorithm.loss.eps_low", 0.0},
                              {"algorithm.loss.eps_high", 0.0},
                              {"algorithm.loss.beta", 3e-3},
                              {"rollout.steps", 128},
                          });
}

Settings sudoku() { return changed(gsm8k(), {{"algorithm.loss.beta", 1e-2}, {"rollout.steps", 128}}); }

/// Full fine-tuning: the only script in which the reference follows the policy.
Settings code() {
  return changed(gsm8k(), {
                              {"algorithm.masking.micro_batch", 1},
                              {"algorithm.loss.beta", 1e-2},
                              {"reference.policy", "ema"},
                              {"reference.sync_steps", 64},
                              {"reference.mix", 0.6},
                              {"train.group_size", 10},
                              {"train.learning_rate", 1e-6},
                              {"train.weight_decay", 0.1},
                              {"train.gradient_clip", 0.8},
                          });
}

/// One rank. The script says reduce_var "false", which the original never reads: still coupled.
Settings demo() {
  return changed(gsm8k(), {
                              {"algorithm.masking.num_mc", 1},
                              {"algorithm.masking.micro_batch", 1},
                              {"algorithm.loss.eps_low", 4e-4},
                              {"algorithm.loss.eps_high", 4e-4},
                              {"train.prompts_per_step", 2},
                              {"rollout.steps", 64},
                          });
}

/// Dream's sampler decides over the whole response, by entropy.
Settings demo_dream() {
  return changed(demo(), {{"rollout.block", 256}, {"rollout.remasking", "negative_entropy"}, {"rollout.top_p", 0.95}});
}

/// configs.py: what a run gets that sets nothing. Its optimizer is the trainer's.
Settings class_defaults() {
  return changed(train(), {
                              {"algorithm.masking.micro_batch", 8},
                              {"algorithm.loss.beta", 0.04},
                              {"train.group_size", 8},
                              {"train.inner_iterations", 1},
                              {"train.schedule", "linear"},
                              {"train.final_fraction", 0.0},
                              {"train.beta2", 0.999},
                              {"train.weight_decay", 0.0},
                              {"train.gradient_clip", 1.0},
                              {"rollout.steps", 128},
                              {"rollout.temperature", 1.2},
                          });
}

Bundle bundle() {
  return {
      .name = "espo",
      .doc = "The whole response as one action: sequence-level ratio of ELBO estimates from complementary masks.",
      .paper = "Principled RL for Diffusion LLMs Emerges from a Sequence-Level Perspective",
      .masking = "espo",
      .loss = "espo",
      .presets = {{"train", "the release's train.yaml", for_adapters(train())},
                  {"gsm8k", "the release's script for GSM8K", for_adapters(gsm8k())},
                  {"math", "the release's script for MATH", for_adapters(math())},
                  {"countdown", "the release's script for Countdown: a clip without play", for_adapters(countdown())},
                  {"sudoku", "the release's script for Sudoku", for_adapters(sudoku())},
                  {"code", "the release's script for code: the reference follows the policy", code()},
                  {"demo_llada_sudoku", "the release's demo, LLaDA on Sudoku: a narrow clip", for_adapters(demo())},
                  {"demo_dream_countdown", "the release's demo, Dream on Countdown: a narrow clip",
                   for_adapters(demo_dream())},
                  {"class_defaults", "the trainer's defaults, where no file sets a value", class_defaults()}},
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("espo", "1.0.0", "Apache-2.0") {
  registry.add<StratifiedMasking>("espo", "Random masks of evenly spread sizes, each with its complement.",
                                  masking_params());
  registry.add<SequenceLoss>("espo", "Clipped ratio of the responses' ELBO per position, plus KL of the ELBOs.",
                             loss_params());
  registry.add_bundle(bundle());
}
