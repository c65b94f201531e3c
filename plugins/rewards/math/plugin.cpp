#include <drift/plugin.h>

#include "reward.h"

DRIFT_PLUGIN("math", "1.0.0", "Apache-2.0") {
  registry.add<math_reward::MathReward>("math",
                                        "Compares the final answer of a response with the truth as mathematics.",
                                        math_reward::MathReward::parameters());
}
