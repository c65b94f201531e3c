#pragma once

// Programs started by mpirun, as many processes as a test wants on whatever processors there are.

#include "tests/support/support.h"

#include <core/base/child_process.h>
#include <core/ranks/launch.h>

namespace drift::test {

/// Why no run of several ranks can be started here; empty if it can.
inline std::string missing_ranks() {
  if (find_program("mpirun").empty()) return "there is no mpirun";
  return transport_state().problem;
}

/// The beginning of a command that starts programs. One thread each: what is computed must not depend on the machine.
inline std::string mpirun() {
  return "OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe "
         "--bind-to none ";
}

}  // namespace drift::test
