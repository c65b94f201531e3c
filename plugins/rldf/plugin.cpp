// What the plugin `rldf` registers: the algorithm and its options. The settings of the paper and of the original's
// release are the files in presets/.

#include "rldf.h"

#include <drift/plugin.h>

namespace {

using namespace drift;
using namespace drift::rldf;

Algorithm algorithm() {
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
                                  "States of the denoising trajectory at k steps, preferably those of low confidence.");
  registry.add<RandomMasking>("random_masking", "k random masks over a share of the valid tokens.");
  registry.add<CoupledRandomMasking>("coupled_random_masking", "Two complementary random masks over the valid tokens.");
  registry.add<AllMasking>("all_masking", "One view with all valid tokens masked.");
  registry.add<RldfLoss>("rldf", "REINFORCE or clipped ratio on the tokens above a probability threshold, plus KL.");
  registry.add_algorithm(algorithm());
}
