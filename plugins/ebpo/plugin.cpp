// What the plugin `ebpo` registers. The settings of its authors' scripts are the files in presets/.

#include "ebpo.h"

#include <drift/plugin.h>

DRIFT_PLUGIN("ebpo", "1.0.0", "Apache-2.0") {
  using namespace drift::ebpo;
  registry.add<BlockMasking>("ebpo", "Every block noised at once, at levels spread evenly over the blocks of a batch.");
  registry.add<ElboLoss>("ebpo", "Clipped ratio of the responses' ELBOs, and a KL of them.");
  registry.add_algorithm({
      .name = "ebpo",
      .doc = "The ratio of a block model's ELBOs: one forward noises every block of a response, each at its own level.",
      .paper = "LLaDA2.1: Speeding Up Text Diffusion via Token Editing",
      .masking = "ebpo",
      .loss = "ebpo",
      .presets = drift::plugin_presets("sdar"),
      .plugin = {},
  });
}
