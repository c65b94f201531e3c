#include "lab.h"

#include <drift/plugin.h>

DRIFT_PLUGIN("lab", "2.1.0", "MIT") {
  register_algorithm(registry);
  register_backbone(registry);
  register_rollout(registry);
  register_reverse(registry);
}
