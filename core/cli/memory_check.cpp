#include <core/cli/memory_check.h>

#include <core/base/device.h>
#include <core/base/log.h>
#include <core/base/memory.h>
#include <core/boundary/checked.h>
#include <core/ranks/ranks.h>
#include <core/report/format.h>
#include <core/train/training_task.h>

namespace drift {
namespace {

// Of what is there: a run whose least memory and budget take no more is not planned before it begins.
constexpr double kAmple = 0.7;
}  // namespace

std::string memory_text(std::int64_t bytes) {
  const double count = static_cast<double>(bytes) / (1 << 30);
  return count >= 1 ? format_decimal(count, 1) + " GiB"
                    : format_decimal(static_cast<double>(bytes) / (1 << 20), 0) + " MiB";
}

Sharding run_sharding(const Ranks& ranks, const RunConfig& config) { return {ranks.size(), shard_of(config)}; }

AvailableMemory available_memory_of(const Ranks& ranks, const RunConfig& config, std::optional<at::Device> device) {
  AvailableMemory available;
  if (device) {
    available.host = available_memory(at::kCPU);
    // A plan counts what this program has already.
    if (available.host) available.host = *available.host / ranks.on_host() + resident_memory();
    available.device = config.get<RunSettings>().on_cpu() ? available.host : available_memory(*device);
  }
  const auto given = config.get<RunSettings>().memory_gib;
  if (given > 0) available.device = static_cast<std::int64_t>(given * (1 << 30));
  return available;
}

std::string memory_shortage(const MemoryPlan& plan, const AvailableMemory& available) {
  std::string text;
  const auto add = [&](const MemoryOfPlace& place, std::optional<std::int64_t> there, const char* where) {
    if (!there || place.bytes() <= *there) return;
    text += (text.empty() ? "" : "; ") + memory_text(place.bytes()) + " of " + where + "memory needed, " +
            memory_text(*there) + " available";
  };
  add(plan.device, available.device, "");
  add(plan.host, available.host, "host ");
  return text;
}

std::string what_makes_it_smaller(const Sharding& ranks) {
  return std::string("smaller with, what costs least first: ") + (ranks.count > 1 ? "distributed.shard, " : "") +
         "reference.offload, train.offload (on a GPU), train.memory_budget_mib, train.moments, train.prompts_per_step, "
         "model.dtype, adapter.kind, model.quantize (docs/performance.md)";
}

Loaded<Rollout> evaluation_rollout(const LoadedRun& run) {
  if (!run.config.has("evaluation.rollout")) return {};
  return create_component<Rollout>(run.host(), run.config, "evaluation.rollout");
}

void require_memory(const Ranks& ranks, const LoadedRun& run, const Model& shapes, const PromptEncoder& prompts,
                    const MakeComponents& make_components) {
  RunHost& host = run.host();
  const RunConfig& config = run.config;
  const Sharding sharding = run_sharding(ranks, config);
  const auto available = available_memory_of(ranks, config, run_device(config.get<RunSettings>().device_name()));
  if (!available.device) return;
  const LossNeeds needs = checked_needs(*create_component<LossEstimator>(host, config, "algorithm.loss"));
  const std::int64_t budget = config.get<TrainSettings>().memory_budget;
  const auto least = static_cast<double>(least_memory(config, shapes, needs, sharding) + resident_memory() + budget);
  if (least < kAmple * static_cast<double>(*available.device)) return;

  const auto components = make_components(run, open_training_task(host, config, prompts).task);
  const auto evaluation = evaluation_rollout(run);
  const TrainingPlan plan =
      plan_training(config, shapes, prompts, components, evaluation ? &*evaluation : nullptr, sharding);
  Ranks alone;
  host.take_metrics(alone);  // what was counted while planning is no step's
  const std::string shortage = memory_shortage(plan.memory, available);
  if (shortage.empty()) return;
  if (!config.get<RunSettings>().on_cpu()) {
    return log_warning("this run may not fit: " + shortage +
                       ", by a plan that was measured on CPUs alone; --dry-run shows the parts");
  }
  throw Error(
      (sharding.count > 1 ? "this run's ranks do not fit, each: " : "this run does not fit: ") + shortage,
      what_makes_it_smaller(sharding) + "\n    --dry-run shows the parts; run.memory_gib says how much it may take");
}

}  // namespace drift
