#pragma once

#include <core/cli/training_run.h>
#include <core/train/training_plan.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// Bytes that a run may take: on its device, and in host memory beside it. Nothing where it is unknown.
struct AvailableMemory {
  std::optional<std::int64_t> device, host;
};

/// What `run.memory_gib` says, or the machine: of that, what each of the ranks of this host may take.
/// @param device  where the run would be; nothing: not on this machine
AvailableMemory available_memory_of(const RunConfig& config, std::optional<at::Device> device);

/// "31.2 GiB of memory needed, 22.0 GiB available"; empty if the plan fits.
std::string memory_shortage(const MemoryPlan& plan, const AvailableMemory& available);

/// Settings with which a run fits, and what it then needs.
struct MemoryChange {
  std::vector<std::string> settings;  ///< "train.moments=\"bfloat16\""
  MemoryPlan plan;

  /// "--set train.moments=\"bfloat16\"    21.3 GiB".
  std::string text() const;
};

/// The three cheapest changes that make it fit: single ones first, then two or three together of which no fewer
/// suffice. Cheap is what changes no number; then what changes the optimizer's rounding, the batch, the weights' type,
/// and last what is trained.
/// @param work  of all ranks together
/// @param ranks  how the run is divided now; the plans are those of one rank
std::vector<MemoryChange> changes_that_fit(const LoadedRun& run, const ConfigOptions& options, const MemoryWork& work,
                                           const AvailableMemory& available, const Sharding& ranks);

/// "14.2 GiB", "159 MiB".
std::string memory_text(std::int64_t bytes);

/// The processes that a launcher has started, and what this run divides among them.
Sharding run_sharding(const RunConfig& config);

/// Before the weights are read. Collective. Where the run's plan needs more memory than there is, it is an error with
/// changes_that_fit() on the CPU, where plans were measured, and a warning elsewhere.
void require_memory(const LoadedRun& run, const ConfigOptions& options, const PromptEncoder& prompts,
                    const MakeComponents& make_components);

/// The rollout of a run's evaluations; nothing where it has none.
Loaded<Rollout> evaluation_rollout(const LoadedRun& run);

}  // namespace drift
