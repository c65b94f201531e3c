#include <core/cli/memory_check.h>

#include <core/base/component_host.h>
#include <core/base/device.h>
#include <core/base/log.h>
#include <core/base/memory.h>
#include <core/boundary/checked.h>
#include <core/config/document.h>
#include <core/base/child_process.h>
#include <core/ranks/ranks.h>
#include <core/report/format.h>
#include <core/train/training_task.h>
#include <core/update/value_model.h>

#include <algorithm>
#include <bit>
#include <span>

namespace drift {
namespace {

/// Settings that save memory, the cheaper ones first. Those that a run has already, or cannot have, change nothing.
constexpr const char* kSavings[] = {"distributed.shard=\"optimizer\"", "distributed.shard=\"gradients\"",
                                    "reference.offload=true",          "train.offload=\"optimizer\"",
                                    "train.memory_budget_mib=256",     "train.moments=\"bfloat16\"",
                                    "train.prompts_per_step=1",        "model.dtype=\"bfloat16\"",
                                    "adapter.kind=\"lora\"",           "model.quantize=\"nf4\""};
constexpr std::size_t kSavingsOfRanks = 2;  // the first ones are of use to several ranks only
constexpr std::size_t kMostChanges = 3;
constexpr int kMostTogether = 3;
// Of what is there: a run whose least memory and budget take no more is not planned before it begins.
constexpr double kAmple = 0.7;

bool is_on_cpu(const RunConfig& config) { return config.get<RunSettings>().on_cpu(); }

/// The plan of the run with some settings changed; nothing if it cannot have them.
std::optional<MemoryPlan> plan_with(const std::vector<std::string>& settings, const LoadedRun& run,
                                    ConfigOptions options, MemoryWork work, Sharding ranks) {
  const Registry& registry = run.plugins->registry;
  for (const std::string& setting : settings) options.overrides.push_back(ConfigOverride::from_set(setting));
  try {
    const RunConfig config =
        resolve_config(load_document(options.file, options.overrides), registry, ConfigPurpose::kTrain);
    check_trainable(config);
    check_value_model(config, ranks.count);
    ranks.shard = std::max(ranks.shard, shard_of(config));
    if (ranks.count > 1) check_shard(config, ranks.shard);
    // A batch of another size has fewer masked contexts in proportion.
    const auto train = config.get<TrainSettings>();
    const std::int64_t before = std::max<std::int64_t>(1, work.responses);
    work.responses = train.prompts_per_step * train.group_size;
    work.rows = std::max<std::int64_t>(1, work.rows * work.responses / before);
    work.scored_tokens = work.scored_tokens * work.responses / before;
    return plan_memory(config, *open_model_shapes(registry, config), work, ranks);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string memory_text(std::int64_t bytes) {
  const double count = static_cast<double>(bytes) / (1 << 30);
  return count >= 1 ? format_decimal(count, 1) + " GiB"
                    : format_decimal(static_cast<double>(bytes) / (1 << 20), 0) + " MiB";
}

Sharding run_sharding(const RunConfig& config) { return {run_ranks().size(), shard_of(config)}; }

AvailableMemory available_memory_of(const RunConfig& config, std::optional<at::Device> device) {
  AvailableMemory available;
  if (device) {
    available.host = available_memory(at::kCPU);
    // A plan counts what this program has already.
    if (available.host) available.host = *available.host / run_ranks().on_host() + resident_memory();
    available.device = is_on_cpu(config) ? available.host : available_memory(*device);
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

std::vector<MemoryChange> changes_that_fit(const LoadedRun& run, const ConfigOptions& options, const MemoryWork& work,
                                           const AvailableMemory& available, const Sharding& ranks) {
  const auto savings = std::span(kSavings).subspan(ranks.count > 1 ? 0 : kSavingsOfRanks);
  const auto as_it_is = plan_with({}, run, options, work, ranks);
  std::vector<MemoryChange> found;
  std::vector<unsigned> sufficient;  // of each saving a bit, the cheapest first
  for (int together = 1; together <= kMostTogether; ++together) {
    for (unsigned choice = 1; choice < 1U << savings.size(); ++choice) {
      const auto is_part = [&](unsigned fewer) { return (choice & fewer) == fewer; };
      if (std::popcount(choice) != together || std::ranges::any_of(sufficient, is_part)) continue;
      std::vector<std::string> settings;
      for (std::size_t i = 0; i < savings.size(); ++i) {
        if (choice >> i & 1) settings.emplace_back(savings[i]);
      }
      const auto plan = plan_with(settings, run, options, work, ranks);
      if (!plan || !memory_shortage(*plan, available).empty()) continue;
      if (as_it_is && plan->device.bytes() >= as_it_is->device.bytes()) continue;
      found.push_back({settings, *plan});
      sufficient.push_back(choice);
      if (found.size() == kMostChanges) return found;
    }
  }
  return found;
}

std::string MemoryChange::text() const {
  std::vector<std::string> words;
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  return shell_command(words) + "    " + memory_text(plan.device.bytes()) +
         (plan.host.always.empty() ? "" : ", and " + memory_text(plan.host.bytes()) + " of host memory");
}

Loaded<Rollout> evaluation_rollout(const LoadedRun& run) {
  if (!run.config.has("evaluation.rollout")) return {};
  return create_component<Rollout>(run.plugins->registry, run.config, "evaluation.rollout");
}

void require_memory(const LoadedRun& run, const ConfigOptions& options, const PromptEncoder& prompts,
                    const MakeComponents& make_components) {
  const auto& registry = run.plugins->registry;
  const RunConfig& config = run.config;
  const Sharding ranks = run_sharding(config);
  const auto available = available_memory_of(config, run_device(config.get<RunSettings>().device_name()));
  if (!available.device) return;
  const auto shapes = open_model_shapes(registry, config);
  const LossNeeds needs = checked_needs(*create_component<LossEstimator>(registry, config, "algorithm.loss"));
  const std::int64_t budget = config.get<TrainSettings>().memory_budget;
  const auto least = static_cast<double>(least_memory(config, *shapes, needs, ranks) + resident_memory() + budget);
  if (least < kAmple * static_cast<double>(*available.device)) return;

  const auto components = make_components(run, open_training_task(registry, config, prompts).task);
  const auto evaluation = evaluation_rollout(run);
  const TrainingPlan plan =
      plan_training(config, *shapes, prompts, components, evaluation ? &*evaluation : nullptr, ranks);
  take_component_metrics();  // what was counted while planning is no step's
  const std::string shortage = memory_shortage(plan.memory, available);
  if (shortage.empty()) return;
  if (!is_on_cpu(config)) {
    return log_warning("this run may not fit: " + shortage +
                       ", by a plan that was measured on CPUs alone; --dry-run shows the parts and what makes it fit");
  }
  std::string hint;
  for (const MemoryChange& change : changes_that_fit(run, options, plan.memory_work, available, ranks))
    hint += (hint.empty() ? "any of these makes it fit:\n      " : "\n      ") + change.text();
  if (hint.empty()) hint = "a smaller model, or more memory";
  throw Error((ranks.count > 1 ? "this run's ranks do not fit, each: " : "this run does not fit: ") + shortage,
              hint + "\n    --dry-run shows the parts; run.memory_gib says how much it may take");
}

}  // namespace drift
