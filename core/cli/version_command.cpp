#include <core/cli/command.h>

#include <drift/abi.h>

#include <iostream>

namespace drift {

int run_version(const CommandLine&) {
  std::cout << "drift " DRIFT_VERSION "\n"
            << "core ABI " << DRIFT_ABI_MAJOR << "." << DRIFT_ABI_MINOR << "\n"
            << "LibTorch " TORCH_VERSION "\n"
            << "built by " DRIFT_BUILD_COMPILER " for " DRIFT_BUILD_PLATFORM ", " DRIFT_BUILD_TYPE "\n";
  return 0;
}

}  // namespace drift
