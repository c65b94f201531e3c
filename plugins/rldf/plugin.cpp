// What the plugin `rldf` registers: the algorithm and its options. The settings of the paper and of the original's
// release are the files in presets/.

#include "rldf.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::rldf;

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

Bundle bundle() {
  return {
      .name = "rldf",
      .doc =
          "Reinforcement learning from denoising feedback: states of the response's own trajectory, unlikely tokens "
          "clipped.",
      .paper = "Reinforcement Learning from Denoising Feedback",
      .masking = "rldf",
      .loss = "rldf",
      .presets = plugin_presets("paper"),
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
