#include "llada.h"

#include <drift/plugin.h>

DRIFT_PLUGIN("llada", "0.2.0", "Apache-2.0") {
  registry.add<drift::llada::Llada>(
      "llada", "LLaDA, a masked diffusion transformer (Nie et al. 2025): LLaDA-8B, LLaDA-1.5 and smaller ones.",
      {{"padding", "masked",
        "whether prompts attend to their padding; \"attended\" is as in the originals, where a row depends on its "
        "batch",
        drift::one_of({"masked", "attended"})},
       {"ignored_settings", std::vector<std::string>{},
        "unknown keys of config.json that do not affect what the model computes"}});
}
