// What the plugin `wd1` registers: its loss, and a bundle of it with the masking of plugin `d1`. The settings of the
// release are the files in presets/.

#include "wd1.h"

#include <drift/plugin.h>

namespace {

using namespace drift;

ParamSpecs loss_params() {
  return {
      {"positive_only", false, "only raise likelihoods, by the softmax of the advantages"},
      {"micro_batch", 0, "neighbouring responses that share a softmax, 0 = those of a group", at_least(0)},
  };
}

Bundle bundle() {
  return {
      .name = "wd1",
      .doc = "Log-likelihoods weighed by softmaxes of the advantages, up and down; no ratio and no old policy.",
      .paper = "wd1: Weighted Policy Optimization for Reasoning in Diffusion Language Models",
      .masking = "d1",
      .loss = "wd1",
      .presets = plugin_presets("gsm8k"),
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("wd1", "1.0.0", "Apache-2.0") {
  registry.add<wd1::WeightedLikelihood>("wd1", "Log-likelihoods weighed by softmaxes of the advantages.",
                                        loss_params());
  registry.add_bundle(bundle());
}
