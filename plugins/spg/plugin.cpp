// What the plugin `spg` registers: the algorithm and its options. The settings of its release are the files in
// presets/.

#include "spg.h"

#include <drift/plugin.h>

namespace {

using namespace drift;

Algorithm algorithm() {
  return {
      .name = "spg",
      .doc =
          "Sandwiched policy gradient: raises a lower bound for the good responses, lowers an upper bound for the "
          "others.",
      .paper = "SPG: Sandwiched Policy Gradient for Masked Diffusion Language Models",
      .masking = "spg",
      .loss = "spg",
      .presets = plugin_presets("gsm8k"),
      .plugin = {},
  };
}

}  // namespace

DRIFT_PLUGIN("spg", "1.0.0", "Apache-2.0") {
  registry.add<spg::CopyMasking>("spg", "Masked copies of a response: a random block and everything after it.");
  registry.add<spg::SandwichedBounds>(
      "spg", "A lower bound of the likelihood for the good responses, an upper bound for the others.");
  registry.add_algorithm(algorithm());
}
