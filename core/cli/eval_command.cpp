#include <core/cli/load_run.h>

namespace drift {

int run_eval(const CommandLine& line) {
  const LoadedRun run = load_run(line, ConfigPurpose::kEval);
  throw Error("`drift eval` is not part of this build");
}

}  // namespace drift
