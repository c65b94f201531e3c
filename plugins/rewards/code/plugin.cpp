#include <drift/plugin.h>

#include "reward.h"

DRIFT_PLUGIN("code", "1.0.0", "Apache-2.0") {
  registry.add<code_reward::CodeReward>("code", "Runs Python in a sandbox: the share of the tests that pass.",
                                        code_reward::CodeReward::parameters());
}
