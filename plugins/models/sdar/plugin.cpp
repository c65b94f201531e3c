#include "sdar.h"

#include <drift/plugin.h>

DRIFT_PLUGIN("sdar", "0.1.0", "Apache-2.0") {
  registry.add<drift::sdar::Sdar>("sdar", "SDAR: SDAR-1.7B, 4B, 8B, TraDo, DiRL-8B.",
                                  {{"block_size", 0, "tokens of a block, where config.json has no block_size"},
                                   {"mask_id", -1, "the mask token, where config.json has no mask_token_id"},
                                   {"ignored_settings", std::vector<std::string>{},
                                    "unknown keys of config.json that do not affect what the model computes"}});
}
