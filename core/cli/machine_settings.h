#pragma once

#include <core/cli/training_run.h>

#include <optional>
#include <string>

namespace drift {

// What a run's file leaves to the machine. The kind of machine decides it, never what else runs there: rounding and the
// order of sums follow from it. A run's own file records it, and a resume keeps it.

/// The memory budget of [train] or [pretrain], by this rank's device.
/// @param device  where the run would be; nothing: not on this machine
/// @return the line that says so; empty where the file has a budget
std::string settle_memory_budget(const Ranks& ranks, RunHost& host, RunConfig& config, const Model& shapes,
                                 std::optional<at::Device> device);

// Collective, of a run. `resumed`: the folder of one that goes on, which stays as it was begun; empty: a new run.

/// As above, by the rank whose device has the least memory.
std::string settle_memory_budget(Ranks& ranks, LoadedRun& run, const Model& shapes, const fs::path& resumed);
/// How the CPU multiplies bfloat16 matrices.
void settle_products(Ranks& ranks, RunConfig& config, const fs::path& resumed);

}  // namespace drift
