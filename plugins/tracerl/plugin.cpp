// What the plugin `tracerl` registers: the algorithm and its options. The settings of its authors' configurations are
// the files in presets/.

#include "tracerl.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::tracerl;

Algorithm algorithm() {
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
  registry.add<TraceMasking>("tracerl",
                             "The denoising trajectory in slices of several steps, each predicted together.");
  registry.add<RandomTraceMasking>("tracerl_random", "Random masks of random ratios over a response.");
  registry.add<CoupledTraceMasking>("tracerl_coupled", "Random masks of random ratios, each with its complement.");
  registry.add<TraceLoss>("tracerl", "Clipped ratio and KL, averaged over views.");
  registry.add_algorithm(algorithm());
}
