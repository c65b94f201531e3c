#include <core/cli/load_run.h>

namespace drift {

int run_pretrain(const CommandLine& line) {
  const LoadedRun run = load_run(line, ConfigPurpose::kPretrain);
  throw Error("`drift pretrain` is not part of this build");
}

}  // namespace drift
