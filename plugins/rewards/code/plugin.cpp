#include "reward.h"

#include <drift/plugin.h>

DRIFT_PLUGIN("code", "1.0.0", "Apache-2.0") {
  registry.add<drift::code::CodeReward>("code", "Runs Python in a sandbox: the share of the tests that pass.",
                                        drift::code::CodeReward::parameters());
}
