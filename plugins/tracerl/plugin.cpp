// What the plugin `tracerl` registers: the algorithm, its options, and the settings of its authors' configurations.

#include "tracerl.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::tracerl;
using Settings = std::vector<BundleSetting>;

ParamSpec post_num() {
  return {"post_num", 0, "padding tokens that are scored, counted from the first; -1: all of them", at_least(-1)};
}

ParamSpecs trace_masking_params() {
  return {{"shrink", 8, "s: denoising steps that are predicted at once, from the state before the first", at_least(1)},
          post_num()};
}

ParamSpecs random_masking_params() {
  return {{"lower_p", 0.1, "smallest mask ratio", between(0, 1)},
          {"upper_p", 0.9, "largest mask ratio; each mask draws its own", between(0, 1)},
          {"mask_times", 35, "masks per response", between(1, 4096)},
          post_num()};
}

ParamSpecs loss_params() {
  const ParamSpecs own = {
      {"norm", "targets", "the policy term of a view: mean over its targets, or sum by the response length",
       one_of({"targets", "length"})},
      {"kl_norm", "targets", "the KL of a view: mean over its targets, their sum, or the sum by the response length",
       one_of({"targets", "sum", "length"})},
      {"weighting", "rows", "what counts the same: every view, or every response", one_of({"rows", "response"})},
  };
  return joined({own, RatioClip::params(0.2, 0.2), KlTerm::params(0.01, "k3")});
}

/// What a configuration of the authors holds beside what they have in common.
struct Configuration {
  std::int64_t prompts, length, rows_per_update;
  const char* schedule;
  std::int64_t post_num = 0;
};

/// docs/spec/tracerl.md 5.4 to 5.6.
Settings settings(const Configuration& own) {
  return {
      {"algorithm.masking.shrink", 8},
      {"algorithm.masking.post_num", own.post_num},
      {"algorithm.loss.norm", "targets"},
      {"algorithm.loss.kl_norm", "sum"},
      {"algorithm.loss.weighting", "rows"},
      {"algorithm.loss.eps_low", 0.2},
      {"algorithm.loss.eps_high", 0.2},
      {"algorithm.loss.beta", 0.01},
      {"algorithm.loss.kl", "k3"},
      {"reference.policy", "old"},
      {"reward.truncation_is_wrong", true},
      {"reward.truncation_margin", 5},
      {"advantage.baseline", "mean"},
      {"advantage.std", "population"},
      {"advantage.std_floor", 0.0},
      {"advantage.std_epsilon", 0.0},
      {"filter.require_variance", true},
      {"filter.success_low", 0.2},
      {"filter.success_high", 0.8},
      {"filter.max_groups", 0},
      {"train.prompts_per_step", own.prompts},
      {"train.group_size", 8},
      {"train.inner_iterations", 1},
      {"train.views_per_update", own.rows_per_update},
      {"train.learning_rate", 1e-6},
      {"train.schedule", "constant"},
      {"train.warmup_steps", 0},
      {"train.beta1", 0.9},
      {"train.beta2", 0.999},
      {"train.epsilon", 1e-8},
      {"train.weight_decay", 0.0},
      {"train.gradient_clip", 1.0},
      {"rollout.length", own.length},
      {"rollout.steps", own.length},
      {"rollout.block", 32},
      {"rollout.schedule", own.schedule},
      {"rollout.threshold", 0.95},
      {"rollout.remasking", "low_confidence"},
      {"rollout.temperature", 0.8},
  };
}

Settings dream_settings(const Configuration& own) {
  return changed(settings(own), {{"rollout.top_p", 0.9}, {"rollout.top_k", 50}});
}

Bundle bundle() {
  // Rows per optimizer step: rows per device x accumulated batches x devices, of which the configurations name 1, 8, 32
  // and 32.
  const Settings rl_llada = settings({32, 512, 2 * 128, "static"});
  const Settings rl_dream = dream_settings({32, 1024, 2 * 128 * 8, "static"});
  const Settings multinode_llada = settings({56, 512, 2 * 32 * 32, "dynamic", /*post_num=*/4});
  const Settings multinode_dream = dream_settings({56, 1600, 2 * 32 * 32, "static"});
  return {
      .name = "tracerl",
      .doc =
          "The response's own denoising trajectory, several steps at a time; clipped ratio and KL to the old policy.",
      .paper = "Revolutionizing Reinforcement Learning Framework for Diffusion Large Language Models",
      .masking = "tracerl",
      .loss = "tracerl",
      .presets = {{"rl_llada", "the authors' LLaDA configuration", rl_llada},
                  {"rl_dream", "the authors' Dream configuration", rl_dream},
                  {"multinode_rl_llada", "the same on 4 machines with 8 devices each", multinode_llada},
                  {"multinode_rl_dream", "the same for Dream", multinode_dream}},
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("tracerl", "1.0.0", "Apache-2.0") {
  registry.add<TraceMasking>("tracerl", "The denoising trajectory in slices of several steps, each predicted at once.",
                             trace_masking_params());
  registry.add<RandomTraceMasking>("tracerl_random", "Random masks of random ratios over a response.",
                                   random_masking_params());
  registry.add<CoupledTraceMasking>("tracerl_coupled", "Random masks of random ratios, each with its complement.",
                                    random_masking_params());
  registry.add<TraceLoss>("tracerl", "Clipped ratio and KL, averaged over views.", loss_params());
  registry.add_bundle(bundle());
}
