#include "dream.h"

#include <drift/plugin.h>

DRIFT_PLUGIN("dream", "0.1.0", "Apache-2.0") {
  registry.add<drift::dream::Dream>(
      "dream",
      "Dream, a masked diffusion transformer (Ye et al. 2025): Dream-7B, Dream-Coder, DiffuCoder, smaller ones.",
      {{"padding", "masked",
        "whether prompts attend to their padding; \"attended\" is as in the originals, where a row depends on its "
        "batch",
        drift::one_of({"masked", "attended"})},
       {"scored_row", "previous",
        "which row scores the first token of a response; \"within_response\" is as in rldf_release, where it is "
        "the "
        "token's own",
        drift::one_of({"previous", "within_response"})},
       {"ignored_settings", std::vector<std::string>{},
        "unknown keys of config.json that do not affect what the model computes"}});
}
