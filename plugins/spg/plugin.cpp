// What the plugin `spg` registers: the algorithm and its options. The settings of its release are the files in
// presets/.

#include "spg.h"

#include <drift/plugin.h>

namespace {

using namespace drift;

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

Bundle bundle() {
  return {
      .name = "spg",
      .doc = "Sandwiched policy gradient: raises a lower bound of what went well, lowers an upper bound of the rest.",
      .paper = "SPG: Sandwiched Policy Gradient for Masked Diffusion Language Models",
      .masking = "spg",
      .loss = "spg",
      .presets = plugin_presets("gsm8k"),
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
