#pragma once

// Programs started by mpirun, as many processes as a test wants on whatever processors there are.

#include "tests/support/support.h"

#include <core/process/child_process.h>
#include <core/ranks/launch.h>

#include <filesystem>
#include <string>

namespace drift::test {

/// Why no run of several ranks can be started here; empty if it can.
inline std::string missing_ranks() {
  if (find_program("mpirun").empty()) return "there is no mpirun";
  return transport_state().problem;
}

/// Why no launcher of MPICH can be used here; empty if one can.
inline std::string missing_mpich() {
  const auto library = program().parent_path().parent_path() / "lib/libdrift_mpich.so";
  const bool is_there = std::filesystem::exists(library) && !find_program("mpirun.mpich").empty();
  return is_there ? "" : "no MPICH: apt-get install libmpich-dev mpich, then cmake again";
}

/// The beginning of a command that starts programs. One thread each: what is computed must not depend on the machine.
inline std::string mpirun() {
  return "OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe "
         "--bind-to none ";
}

}  // namespace drift::test
