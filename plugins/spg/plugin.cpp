// What the plugin `spg` registers: the algorithm, its options, and the settings of its release.

#include "spg.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using Settings = std::vector<BundleSetting>;

ParamSpecs masking_params() {
  return {
      {"mode", "block_random", "what a copy masks: some of a random block and all behind it, or some, or all",
       one_of({"block_random", "block_all", "random", "all"})},
      {"num_t", 2, "copies per response", between(1, 4096)},
      {"block", 32, "positions per block", at_least(1)},
      {"min_t", 0.0, "random modes: smallest share that is masked; at least one token is", between(0, 1)},
      {"max_t", 1.0, "random modes: largest share that is masked", between(0, 1)},
      {"p_mask_prompt", 0.15, "probability that a token of the prompt or of an earlier block is masked", between(0, 1)},
      {"end_id", -1, "token that ends the valid part of a response, itself valid; -1 = the model's end token",
       at_least(-1)},
  };
}

ParamSpecs loss_params() {
  return {
      {"negative", "mix", "bound of responses without a positive advantage; zero: they do not count",
       one_of({"mix", "eubo", "elbo", "zero"})},
      {"beta_u", 1.5, "exponent of the upper bound: the greater, the looser", at_least(1)},
      {"mix_weight", 0.5, "w: share of the upper bound in the mixture", between(0, 1)},
      {"micro_batch", 0, "neighbouring responses that are weighed by their lengths together, 0 = all", at_least(0)},
  };
}

/// Said where a run takes its learning rate from a preset of adapters.
constexpr const char* kAdapterRate =
    "chosen for adapters (LoRA), and Drift trains all weights: set train.learning_rate yourself. Releases that train "
    "all "
    "weights take 1e-6.";

/// The masking, the bounds and the inner iterations are SPG's; for the rest, d1's train.yaml with eight ranks: 8 x 2
/// micro-batches of one group of 6.
Settings settings(const char* negative, double beta_u, double temperature) {
  return {
      {"algorithm.masking.mode", "block_random"},
      {"algorithm.masking.num_t", 2},
      {"algorithm.masking.block", 32},
      {"algorithm.masking.min_t", 0.0},
      {"algorithm.masking.max_t", 1.0},
      {"algorithm.masking.p_mask_prompt", 0.15},
      {"algorithm.loss.negative", negative},
      {"algorithm.loss.beta_u", beta_u},
      {"algorithm.loss.mix_weight", 0.5},
      {"algorithm.loss.micro_batch", 6},
      {"advantage.baseline", "mean"},
      {"advantage.std", "none"},
      {"advantage.std_floor", 0.0},
      {"advantage.std_epsilon", 0.0},
      {"filter.require_variance", false},
      {"filter.max_groups", 0},
      {"filter.fill", "none"},
      {"train.prompts_per_step", 16},
      {"train.group_size", 6},
      {"train.inner_iterations", 4},
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
      {"rollout.temperature", temperature},
  };
}

/// On Sudoku a device takes 4 micro-batches of 3, half a group, instead: the same 16 prompts a step, and lengths
/// weighed over 3 responses.
Settings sudoku(const char* negative) {
  return changed(settings(negative, 1.0, 0.3), {{"algorithm.loss.micro_batch", 3}});
}

Bundle bundle() {
  return {
      .name = "spg",
      .doc = "Sandwiched policy gradient: raises a lower bound of what went well, lowers an upper bound of the rest.",
      .paper = "SPG: Sandwiched Policy Gradient for Masked Diffusion Language Models",
      .masking = "spg",
      .loss = "spg",
      .presets = {{"gsm8k", "the release's settings for GSM8K, mixed bounds", settings("mix", 1.5, 0.9)},
                  {"math", "for MATH, mixed bounds", settings("mix", 1.5, 0.9)},
                  {"countdown", "for Countdown, mixed bounds", settings("mix", 1.5, 0.9)},
                  {"sudoku", "for Sudoku, mixed bounds", sudoku("mix")},
                  {"gsm8k_eubo", "for GSM8K, the upper bound alone", settings("eubo", 1.5, 0.9)},
                  {"math_eubo", "for MATH, the upper bound alone", settings("eubo", 1.5, 0.9)},
                  {"countdown_eubo", "for Countdown, the upper bound alone", settings("eubo", 2.0, 0.9)},
                  {"sudoku_eubo", "for Sudoku, the upper bound alone", sudoku("eubo")}},
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("spg", "1.0.0", "Apache-2.0") {
  registry.add<spg::CopyMasking>("spg", "Masked copies of a response: a random block and what follows it.",
                                 masking_params());
  registry.add<spg::SandwichedBounds>(
      "spg", "A lower bound of the likelihood for what went well, an upper for the rest.", loss_params());
  registry.add_bundle(bundle());
}
