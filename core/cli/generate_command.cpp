#include <core/cli/load_run.h>

namespace drift {

int run_generate(const CommandLine& line) {
  const LoadedRun run = load_run(line, ConfigPurpose::kGenerate);
  throw Error("`drift generate` is not part of this build");
}

}  // namespace drift
