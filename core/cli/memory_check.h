#pragma once

#include <core/cli/training_run.h>
#include <core/train/training_plan.h>

#include <cstdint>
#include <optional>
#include <string>

namespace drift {

/// Bytes that a run may take: on its device, and in host memory beside it. Nothing where it is unknown.
struct AvailableMemory {
  std::optional<std::int64_t> device, host;
};

/// What `run.memory_gib` says, or the machine: of that, what each of the ranks of this host may take.
/// @param device  where the run would be; nothing: not on this machine
AvailableMemory available_memory_of(const Ranks& ranks, const RunConfig& config, std::optional<at::Device> device);

/// "31.2 GiB of memory needed, 22.0 GiB available"; empty if the plan fits.
std::string memory_shortage(const MemoryPlan& plan, const AvailableMemory& available);

/// The settings that make a run smaller. Those that change no number come first; then what changes the optimizer's
/// rounding, the batch, the weights' type, and last what is trained.
std::string what_makes_it_smaller(const Sharding& ranks);

/// "14.2 GiB", "159 MiB".
std::string memory_text(std::int64_t bytes);

/// The processes of the run, and what this run divides among them.
Sharding run_sharding(const Ranks& ranks, const RunConfig& config);

/// Before the weights are read. Where the run's plan needs more memory than there is, it is an error on the
/// CPU, where plans were measured, and a warning elsewhere.
void require_memory(const Ranks& ranks, const LoadedRun& run, const Model& shapes, const PromptEncoder& prompts,
                    const MakeComponents& make_components);

/// The rollout of a run's evaluations; nothing where it has none.
Loaded<Rollout> evaluation_rollout(const LoadedRun& run);

}  // namespace drift
