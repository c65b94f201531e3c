// What the plugin `coupled_grpo` registers: the algorithm, its options, and the settings of the release.

#include "coupled_grpo.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::coupled_grpo;
using Settings = std::vector<BundleSetting>;

ParamSpecs masking_params() {
  const ParamRange inside = {.minimum = 0, .maximum = 1, .minimum_excluded = true, .maximum_excluded = true};
  return {
      {"t_low", 0.2, "smallest share of masked positions in the first mask of a pair", inside},
      {"t_high", 0.8, "largest share", inside},
      {"pairs", 1, "pairs of complementary masks, lambda", between(1, 1024)},
      {"include_full_mask", true, "score every token from a fully masked response, too"},
      {"random_masking", true, "draw new masks for every optimizer step; false: the same ones in the whole run"},
      {"end_id", -1, "token that ends the valid part of a response, itself valid; -1 = the model's end token",
       at_least(-1)},
  };
}

ParamSpecs loss_params() {
  return joined({RatioClip::params(0.5, 0.5), KlTerm::params(0.01, "k3"), LossNorm::params("token")});
}

/// config_coupled_code.yaml, 8 ranks x 2 micro-batches of 5 responses, decoded as LLaDA is: the original's way for a
/// backbone without its sampler.
Settings code() {
  return {
      {"algorithm.masking.t_low", 0.2},
      {"algorithm.masking.t_high", 0.8},
      {"algorithm.masking.pairs", 1},
      {"algorithm.masking.include_full_mask", true},
      {"algorithm.masking.random_masking", true},
      {"algorithm.loss.eps_low", 0.5},
      {"algorithm.loss.eps_high", 0.5},
      {"algorithm.loss.beta", 0.01},
      {"algorithm.loss.kl", "k3"},
      {"algorithm.loss.norm", "token"},
      {"algorithm.loss.micro_batch", 5},
      {"advantage.baseline", "leave_one_out"},
      {"advantage.std", "none"},
      {"advantage.std_floor", 0.0},
      {"advantage.std_epsilon", 0.0},
      {"filter.require_variance", false},
      {"filter.max_groups", 0},
      {"filter.fill", "none"},
      {"reference.policy", "ema"},
      {"reference.sync_steps", 64},
      {"reference.mix", 0.6},
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

/// As released: Dream's end of turn, and its sampler's order over the whole response.
Settings code_dream() {
  return changed(code(), {
                             {"algorithm.masking.end_id", 151645},
                             {"rollout.block", 256},
                             {"rollout.remasking", "negative_entropy"},
                             {"rollout.top_p", 0.95},
                         });
}

/// What a run gets that sets nothing. Its optimizer and its frozen reference are the trainer's.
Settings class_defaults() {
  return changed(code(), {
                             {"algorithm.loss.eps_low", 0.2},
                             {"algorithm.loss.eps_high", 0.2},
                             {"algorithm.loss.beta", 0.04},
                             {"algorithm.loss.micro_batch", 8},
                             {"reference.policy", "frozen"},
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
      .name = "coupled_grpo",
      .doc = "Tokens scored from complementary random masks and the full mask, weighted; clipped ratio of the mean.",
      .paper = "DiffuCoder: Understanding and Improving Masked Diffusion Models for Code Generation",
      .masking = "coupled_grpo",
      .loss = "coupled_grpo",
      .presets = {{"code", "the release's config_coupled_code.yaml, the model's own end token", code()},
                  {"code_dream", "the same as released for Dream 7B: token 151645 ends a response", code_dream()},
                  {"class_defaults", "the trainer's defaults, where no file sets a value", class_defaults()}},
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("coupled_grpo", "1.0.0", "Apache-2.0") {
  registry.add<PairMasking>("coupled_grpo", "The full mask, and pairs of complementary random masks with weights.",
                            masking_params());
  registry.add<PairLoss>("coupled_grpo", "Clipped ratio of each token's weighted mean over its views, plus KL.",
                         loss_params());
  registry.add_bundle(bundle());
}
