#include <drift/plugin.h>

#include "reward.h"
#include "task.h"

DRIFT_PLUGIN("countdown", "1.0.0", "Apache-2.0") {
  registry.add<countdown::CountdownTask>("countdown",
                                         "Random Countdown puzzles that can be solved; one in 8 held out, or a file's.",
                                         countdown::CountdownTask::parameters());
  registry.add<countdown::CountdownReward>("countdown",
                                           "Judges an arithmetic expression by exact calculation: value and numbers.",
                                           countdown::CountdownReward::parameters());
}
