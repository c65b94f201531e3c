// What the plugin `espo` registers: the algorithm and its options. The settings of the release are the files in
// presets/.

#include "espo.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::espo;

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

Bundle bundle() {
  return {
      .name = "espo",
      .doc = "The whole response as one action: sequence-level ratio of ELBO estimates from complementary masks.",
      .paper = "Principled RL for Diffusion LLMs Emerges from a Sequence-Level Perspective",
      .masking = "espo",
      .loss = "espo",
      .presets = plugin_presets("train"),
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
