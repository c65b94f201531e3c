#include "block.h"

#include <drift/plugin.h>

DRIFT_PLUGIN("block", "0.1.0", "Apache-2.0") {
  registry.add<BlockRollout>(
      "block", "Block-wise decoding with confidence remasking, static or with a threshold, without a cache.",
      BlockRollout::parameters());
}
