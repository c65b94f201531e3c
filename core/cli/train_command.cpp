#include <core/cli/load_run.h>

namespace drift {

int run_train(const CommandLine& line) {
  const LoadedRun run = load_run(line, ConfigPurpose::kTrain);
  throw Error("`drift train` is not part of this build");
}

}  // namespace drift
