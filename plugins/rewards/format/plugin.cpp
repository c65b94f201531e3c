#include <drift/plugin.h>

#include "reward.h"

DRIFT_PLUGIN("format", "1.0.0", "Apache-2.0") {
  registry.add<format::FormatReward>("format",
                                     "Judges the form of a response; to be added to another reward with a weight.",
                                     format::FormatReward::parameters());
}
