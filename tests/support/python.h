#pragma once

// Python for tests of components in Python.

#include <drift/abi.h>

#include "tests/support/support.h"

#include <core/base/child_process.h>

namespace drift::test {

/// An interpreter whose package torch is that of this LibTorch; empty if there is none. Tests look at
/// DRIFT_TEST_PYTHON, at what `scripts/setup --with-python` made, and at python3.
inline const std::string& python_with_torch() {
  static const std::string found = [] {
    const auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
    const std::string cache =
        variable("XDG_CACHE_HOME").empty() ? variable("HOME") + "/.cache" : variable("XDG_CACHE_HOME");
    for (const std::string& program :
         {variable("DRIFT_TEST_PYTHON"), cache + "/drift/python-" TORCH_VERSION "/bin/python3",
          find_program("python3")}) {
      if (program.empty() || !std::filesystem::exists(program)) continue;
      const auto said = run({.arguments = {program, "-c", "import torch; print(torch.__version__.split('+')[0])"}});
      if (said.output == TORCH_VERSION "\n") return program;
    }
    return std::string();
  }();
  return found;
}

/// Why tests of tensors in Python cannot run here.
inline constexpr const char* kNoTorch =
    "no Python has torch " TORCH_VERSION ": scripts/setup --with-python, or name one by DRIFT_TEST_PYTHON";

/// Python runs once in a process: let it be one with torch, if there is one.
inline void choose_python() {
  if (!python_with_torch().empty()) ::setenv("DRIFT_PYTHON", python_with_torch().c_str(), /*overwrite=*/1);
}

}  // namespace drift::test
