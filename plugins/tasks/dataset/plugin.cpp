#include <drift/plugin.h>

#include "task.h"

DRIFT_PLUGIN("dataset", "1.0.0", "Apache-2.0") {
  registry.add<dataset::DatasetTask>("dataset", "Problems from files: JSON, JSON Lines, Parquet.",
                                     dataset::DatasetTask::parameters());
}
