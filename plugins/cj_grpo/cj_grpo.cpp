// CJ-GRPO on blocks (docs/algorithms/cj_grpo.md): the rounds of plugin `dipo`, in which every step of every block has
// equal weight, under the loss of plugin `d1`. The settings that make it are the files in presets/.

#include <drift/plugin.h>

DRIFT_PLUGIN("cj_grpo", "1.0.0", "Apache-2.0") {
  registry.add_algorithm({
      .name = "cj_grpo",
      .doc = "The trajectory of a block model, in which every step of every block has equal weight.",
      .paper = "Taming Masked Diffusion Language Models via Consistency Trajectory Reinforcement Learning with Fewer "
               "Decoding Step",
      .masking = "dipo",
      .loss = "d1",
      .presets = drift::plugin_presets("sdar"),
      .plugin = {},
  });
}
