// What the plugin `tracerl` registers: the algorithm and its options. The settings of its authors' configurations are
// the files in presets/.

#include "tracerl.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::tracerl;

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

Bundle bundle() {
  return {
      .name = "tracerl",
      .doc =
          "The response's own denoising trajectory, several steps at a time; clipped ratio and KL to the old policy.",
      .paper = "Revolutionizing Reinforcement Learning Framework for Diffusion Large Language Models",
      .masking = "tracerl",
      .loss = "tracerl",
      .presets = plugin_presets("rl_llada"),
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
