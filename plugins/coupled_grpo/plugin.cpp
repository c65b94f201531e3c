// What the plugin `coupled_grpo` registers: the algorithm and its options. The settings of the release are the
// files in presets/.

#include "coupled_grpo.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::coupled_grpo;

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

Bundle bundle() {
  return {
      .name = "coupled_grpo",
      .doc = "Tokens scored from complementary random masks and the full mask, weighted; clipped ratio of the mean.",
      .paper = "DiffuCoder: Understanding and Improving Masked Diffusion Models for Code Generation",
      .masking = "coupled_grpo",
      .loss = "coupled_grpo",
      .presets = plugin_presets("code"),
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
