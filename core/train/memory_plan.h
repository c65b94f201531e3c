#pragma once

#include <drift/loss_estimator.h>
#include <drift/model.h>
#include <drift/rollout.h>

#include <core/boundary/divided_weights.h>
#include <core/config/run_config.h>
#include <core/ranks/shard.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drift {

struct MemoryPart {
  std::string name;
  std::int64_t bytes = 0;
  std::string note;  ///< for people
};

/// What a run holds in one place: the memory of its device, or the host's beside it.
struct MemoryOfPlace {
  std::vector<MemoryPart> always;  ///< during the whole run
  std::vector<MemoryPart> phases;  ///< these take turns

  /// `always` and the largest of `phases`.
  std::int64_t bytes() const;
};

/// The memory of a training run. On the CPU `device` is all.
struct MemoryPlan {
  MemoryOfPlace device, host;
};

/// How many processes share one run, each with a device, and what of its state they divide.
struct Sharding {
  std::int64_t count = 1;
  Shard shard = Shard::kNone;

  /// The share of the rank that has the most.
  std::int64_t largest_share(std::int64_t amount) const { return (amount + count - 1) / count; }
};

/// Sums over the parameters that are trained; of shapes, too.
struct TrainedSizes {
  explicit TrainedSizes(const Model& shapes);

  /// AdamW's two moments of them.
  std::int64_t moment_bytes(const RunConfig& config) const;

  std::int64_t elements = 0;
  std::int64_t bytes = 0;       ///< in their own type
  std::int64_t wide_bytes = 0;  ///< as float32: their gradients
  std::int64_t masters = 0;     ///< of those of a narrower type
  std::int64_t largest = 0;     ///< one parameter's gradient, in its own type and as float32
};

/// What decides it, besides the configuration and the shapes: the work of all ranks together.
struct MemoryWork {
  const Rollout* rollout = nullptr;
  const Rollout* evaluation = nullptr;  ///< null: nothing is evaluated
  LossNeeds needs;
  std::int64_t longest_prompt = 0;
  std::int64_t response_length = 0;
  std::int64_t copied_tokens = 0;      ///< of a row beyond prompt and response: noisy blocks, in a model with blocks
  std::int64_t responses = 0;          ///< of a step
  std::int64_t evaluated_at_once = 0;  ///< responses
  std::int64_t rows = 0;               ///< of the largest optimizer step: distinct masked sequences
  std::int64_t scored_tokens = 0;      ///< of the largest optimizer step
};

/// @param shapes  the model that `config` describes, on the meta device: which of its parameters are trained, it says
/// @param ranks  the plan is that of one of them, which does its share of the work
MemoryPlan plan_memory(const RunConfig& config, const Model& shapes, const MemoryWork& work,
                       const Sharding& ranks = {});

/// The least that the run needs, whatever its prompts and its masked contexts are: weights, reference policy,
/// optimizer, gradients. Takes no time.
std::int64_t least_memory(const RunConfig& config, const Model& shapes, const LossNeeds& needs,
                          const Sharding& ranks = {});

/// Of a run whose file has none. A power of two, since machines of one kind differ by a little.
/// @param total  what the run's device has, whatever runs there
/// @param least  least_memory() of the run
std::int64_t default_memory_budget(std::int64_t total, std::int64_t least, bool on_cpu);

}  // namespace drift
