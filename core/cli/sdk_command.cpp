#include <core/cli/load_run.h>

#include <iostream>

namespace drift {

int run_sdk(const CommandLine& line) {
  if (!line.prefix)
    throw UsageError("`drift sdk` wants --prefix", "cmake -B build -DCMAKE_PREFIX_PATH=$(drift sdk --prefix)");
  const std::filesystem::path prefix = program_path().parent_path().parent_path();
  if (!std::filesystem::exists(prefix / DRIFT_CMAKE_FOLDER)) {
    throw Error("no SDK beside this program: " + (prefix / DRIFT_CMAKE_FOLDER).string() + " is missing",
                "cmake --install BUILD_FOLDER --prefix FOLDER, then FOLDER/bin/drift sdk --prefix");
  }
  std::cout << prefix.string() << "\n";
  return 0;
}

}  // namespace drift
