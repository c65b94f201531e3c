#include "llada.h"

#include <drift/plugin.h>

DRIFT_PLUGIN("llada", "0.1.0", "Apache-2.0") {
  registry.add<Llada>(
      "llada", "LLaDA, a masked diffusion transformer (Nie et al. 2025): LLaDA-8B and smaller models of its kind.");
}
