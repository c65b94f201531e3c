// What the plugin `rldf` registers: the algorithm, its options, and the settings of the paper and of the original's
// release.

#include "rldf.h"

#include <drift/plugin.h>

#include <limits>

namespace {

using namespace drift;
using namespace drift::rldf;
using Settings = std::vector<BundleSetting>;

ParamSpecs trajectory_masking_params() {
  return {
      {"k", 16, "denoising steps scored per response", between(1, 4096)},
      {"sample_temperature", 1.0, "tau: 0 takes the least confident steps, inf draws uniformly",
       or_infinite(at_least(0))},
      {"short_trajectory", "fill", "fewer than k steps: draw some again, or average over those there are",
       one_of({"fill", "truncate"})},
      {"skip_single_step", false, "give no signal to responses that were written in one step, as the original does"},
      {"pad_steps", "trajectory", "padding is masked until its own step, or (original) in the first state only",
       one_of({"trajectory", "zero"})},
      {"step_weighting", "none",
       "weight of the selected steps in the loss: equal, or by the softmax of their surprisal",
       one_of({"none", "softmax"})},
      {"target", "x0", "tokens that are scored: all that are masked, or those this very step committed",
       one_of({"x0", "xt-1"})},
  };
}

ParamSpecs random_masking_params() {
  return {
      {"k", 4, "masks per response", between(1, 4096)},
      {"mask_ratio",
       0.3,
       "share of the valid tokens that is masked, at least one",
       {.minimum = 0, .maximum = 1, .minimum_excluded = true}},
  };
}

ParamSpecs loss_params() {
  const ParamSpecs own = {
      {"low_prob_threshold", 0.2,
       "theta: tokens less likely than this are dropped; 0 drops none, > 1 all but those just decoded", at_least(0)},
      {"keep_decoded", true, "keep unlikely tokens that this very step committed"},
      {"filter_on", "auto",
       "policy whose probability theta is compared with; auto: current if one update per rollout, else old",
       one_of({"auto", "current", "old"})},
      {"norm", "sample", "mean over each response's tokens, or over the tokens of all responses",
       one_of({"sample", "token"})},
      {"form", "auto", "policy term; auto: reinforce if one update per rollout, else ppo",
       one_of({"auto", "reinforce", "ppo"})},
      {"entropy_coefficient", 0.0, "weight of the entropy term; a positive one is a penalty"},
      {"entropy_mode", "ref_delta", "entropy term: distance to the reference's entropy, or the entropy itself",
       one_of({"ref_delta", "absolute"})},
  };
  return joined({own, RatioClip::params(0.2, 0.2), KlTerm::params(0.01, "k3")});
}

BundleSetting text(std::string key, const char* value) { return {std::move(key), std::string(value)}; }
BundleSetting integer(std::string key, std::int64_t value) { return {std::move(key), value}; }

/// What the paper states, LLaDA's values. Where it is silent (the optimizer apart from its rate, the divisor of the
/// advantage's standard deviation, the clip) the release's default.yaml speaks.
Settings paper() {
  return {
      integer("algorithm.masking.k", 16),
      {"algorithm.masking.sample_temperature", 1.0},
      {"algorithm.loss.low_prob_threshold", 0.2},
      text("algorithm.loss.norm", "sample"),
      {"algorithm.loss.eps_low", 0.2},
      {"algorithm.loss.eps_high", 0.2},
      {"algorithm.loss.beta", 0.01},
      text("algorithm.loss.kl", "k3"),
      text("advantage.baseline", "mean"),
      text("advantage.std", "sample"),
      {"advantage.std_floor", 0.01},
      {"advantage.std_epsilon", 1e-8},
      {"filter.require_variance", true},
      integer("filter.max_groups", 0),
      text("filter.fill", "none"),
      integer("train.prompts_per_step", 8),
      integer("train.group_size", 4),
      integer("train.inner_iterations", 1),
      {"train.learning_rate", 1e-6},
      text("train.schedule", "constant"),
      integer("train.warmup_steps", 0),
      {"train.beta1", 0.9},
      {"train.beta2", 0.999},
      {"train.epsilon", 1e-8},
      {"train.weight_decay", 0.01},
      {"train.gradient_clip", 1.0},
      integer("rollout.length", 256),
      integer("rollout.block", 32),
      text("rollout.schedule", "dynamic"),
      {"rollout.threshold", 0.9},
      text("rollout.remasking", "low_confidence"),
  };
}

/// The released code as it runs on one device, with LLaDA's mathematics configuration: of 8 groups 4 are kept.
Settings rldf_release() {
  return changed(paper(), {
                              integer("algorithm.masking.k", 4),
                              text("algorithm.masking.pad_steps", "zero"),
                              {"algorithm.masking.skip_single_step", true},
                              {"algorithm.loss.low_prob_threshold", 0.6},
                              text("algorithm.loss.norm", "token"),
                              integer("filter.max_groups", 4),
                              text("filter.fill", "constant_groups"),
                              {"train.weight_decay", 0.0},
                              {"rollout.temperature", 1.0},
                          });
}

/// On Dream the release never recorded commit probabilities, so that it drew steps uniformly (D-1 in
/// docs/spec/rldf.md 2.7).
Settings rldf_release_dream() {
  return changed(rldf_release(), {
                                     {"algorithm.masking.sample_temperature", std::numeric_limits<double>::infinity()},
                                     text("algorithm.loss.norm", "sample"),
                                     {"algorithm.loss.beta", 0.04},
                                     {"train.weight_decay", 0.01},
                                     {"rollout.top_p", 0.95},
                                 });
}

/// On the launch script's 8 devices, if each takes `batch_size` prompts, as accelerate since 1.0 has it. The release
/// keeps 4 of the 8 groups on every device; the filter here sees all 64 and keeps as many in all.
Settings on_8_devices(Settings one_device) {
  return changed(std::move(one_device),
                 {integer("train.prompts_per_step", 8 * 8), integer("filter.max_groups", 8 * 4)});
}

Bundle bundle() {
  return {
      .name = "rldf",
      .doc =
          "Reinforcement learning from denoising feedback: states of the response's own trajectory, unlikely tokens "
          "clipped.",
      .paper = "Reinforcement Learning from Denoising Feedback",
      .masking = "rldf",
      .loss = "rldf",
      .presets = {{"paper", "the paper's values, as for LLaDA", paper()},
                  {"paper_dream", "the paper's values for Dream: a stronger KL",
                   changed(paper(), {{"algorithm.loss.beta", 0.04}})},
                  {"rldf_release", "the released code and its LLaDA configuration, on one device", rldf_release()},
                  {"rldf_release_dream", "the released code and its Dream configuration, on one device",
                   rldf_release_dream()},
                  {"rldf_release_8_devices", "the released code on 8 devices with 8 prompts each, LLaDA",
                   on_8_devices(rldf_release())},
                  {"rldf_release_dream_8_devices", "the released code on 8 devices with 8 prompts each, Dream",
                   on_8_devices(rldf_release_dream())}},
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("rldf", "1.0.0", "Apache-2.0") {
  registry.add<TrajectoryMasking>("rldf",
                                  "States of the denoising trajectory at k steps, preferably those of low confidence.",
                                  trajectory_masking_params());
  registry.add<RandomMasking>("random_masking", "k random masks over a share of the valid tokens.",
                              random_masking_params());
  registry.add<CoupledRandomMasking>("coupled_random_masking", "Two complementary random masks over the valid tokens.");
  registry.add<AllMasking>("all_masking", "One view with all valid tokens masked.");
  registry.add<RldfLoss>("rldf", "REINFORCE or clipped ratio on the tokens above a probability threshold, plus KL.",
                         loss_params());
  registry.add_bundle(bundle());
}
