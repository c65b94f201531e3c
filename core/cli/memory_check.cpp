#include <core/cli/memory_check.h>

#include <core/base/component_host.h>
#include <core/base/device.h>
#include <core/base/memory.h>
#include <core/config/document.h>
#include <core/process/child_process.h>
#include <core/ranks/ranks.h>
#include <core/report/format.h>
#include <core/train/rank_plan.h>
#include <core/train/training_task.h>

#include <algorithm>

namespace drift {
namespace {

/// A setting that saves memory, the cheaper ones first. Those that a run has already, or cannot have, change nothing.
struct Saving {
  const char* settings[2];  // the second may be null
  bool of_ranks = false;    // what several divide
};
constexpr Saving kSavings[] = {
    {{"distributed.shard=\"optimizer\"", nullptr}, true},
    {{"distributed.shard=\"gradients\"", nullptr}, true},
    {{"reference.offload=true", nullptr}},
    {{"train.offload=\"optimizer\"", nullptr}},
    {{"train.memory_budget_mib=256", nullptr}},
    {{"train.moments=\"bfloat16\"", nullptr}},
    {{"train.prompts_per_step=1", nullptr}},
    {{"model.dtype=\"bfloat16\"", nullptr}},
    {{"adapter.kind=\"lora\"", nullptr}},
    {{"adapter.kind=\"lora\"", "model.quantize=\"nf4\""}},
};
constexpr std::size_t kMostChanges = 3;
// Of what is there: a run whose least memory and budget take no more is not planned before it begins.
constexpr double kAmple = 0.7;

std::int64_t gibibytes(double count) { return static_cast<std::int64_t>(count * (1 << 30)); }

/// The configuration with some settings changed; nothing if it cannot have them.
std::optional<RunConfig> with(const std::vector<std::string>& settings, const LoadedRun& run, ConfigOptions options) {
  for (const std::string& setting : settings) options.overrides.push_back(ConfigOverride::from_set(setting));
  try {
    return resolve_config(load_document(options.file, options.overrides), run.plugins->registry, ConfigPurpose::kTrain);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// A batch of another size has fewer masked contexts in proportion.
MemoryWork scaled(MemoryWork work, const RunConfig& config) {
  const auto& train = config.section("train");
  const std::int64_t before = std::max<std::int64_t>(1, work.responses);
  work.responses = train.get<std::int64_t>("prompts_per_step") * train.get<std::int64_t>("group_size");
  work.rows = std::max<std::int64_t>(1, work.rows * work.responses / before);
  work.scored_tokens = work.scored_tokens * work.responses / before;
  return work;
}

std::optional<MemoryPlan> plan_with(const std::vector<std::string>& settings, const LoadedRun& run,
                                    const ConfigOptions& options, const MemoryWork& work, Sharding ranks) {
  const auto config = with(settings, run, options);
  if (!config) return std::nullopt;
  ranks.shard = std::max(ranks.shard, shard_of(*config));
  try {
    if (ranks.count > 1) check_shard(*config, ranks.shard);
    const auto shapes = open_model_shapes(run.plugins->registry, *config);
    return plan_memory(*config, *shapes, memory_work_of_rank(scaled(work, *config), ranks.count), ranks);
  } catch (const Error&) {  // a model that cannot be had this way
    return std::nullopt;
  }
}

std::vector<Saving> savings_of(const Sharding& ranks) {
  std::vector<Saving> savings(std::begin(kSavings), std::end(kSavings));
  if (ranks.count == 1) std::erase_if(savings, [](const Saving& saving) { return saving.of_ranks; });
  return savings;
}

/// All choices of `count` of so many savings, the cheapest first.
std::vector<std::vector<std::size_t>> choices(std::size_t count, std::size_t savings, std::size_t from = 0) {
  std::vector<std::vector<std::size_t>> all;
  if (count == 0) return {std::vector<std::size_t>()};
  for (std::size_t i = from; i < savings; ++i) {
    for (auto rest : choices(count - 1, savings, i + 1)) {
      rest.insert(rest.begin(), i);
      all.push_back(std::move(rest));
    }
  }
  std::ranges::stable_sort(all, {}, [](const auto& choice) { return choice.empty() ? 0 : choice.back(); });
  return all;
}

bool has_already(const RunConfig& config, const std::string& setting) {
  const auto equals = setting.find('=');
  const ResolvedValue* value = config.find(setting.substr(0, equals));
  return value != nullptr && to_toml(value->value) == setting.substr(equals + 1);
}

std::vector<std::string> settings_of(const std::vector<std::size_t>& choice, const std::vector<Saving>& savings,
                                     const RunConfig& config) {
  std::vector<std::string> settings;
  for (const std::size_t i : choice) {
    for (const char* setting : savings[i].settings) {
      if (setting != nullptr && std::ranges::count(settings, setting) == 0 && !has_already(config, setting))
        settings.emplace_back(setting);
    }
  }
  return settings;
}

}  // namespace

std::string memory_text(std::int64_t bytes) {
  const double count = static_cast<double>(bytes) / (1 << 30);
  return count >= 1 ? format_decimal(count, 1) + " GiB"
                    : format_decimal(static_cast<double>(bytes) / (1 << 20), 0) + " MiB";
}

AvailableMemory available_memory_of(const RunConfig& config, std::optional<at::Device> device,
                                    std::int64_t ranks_of_host) {
  AvailableMemory available;
  const auto& section = config.section("run");
  const bool on_cpu = section.get<std::string>("device") == "cpu";
  if (device) {
    available.host = available_memory(at::kCPU);
    // A plan counts what this program has already.
    if (available.host) available.host = *available.host / ranks_of_host + resident_memory();
    available.device = on_cpu ? available.host : available_memory(*device);
  }
  const auto given = section.get<double>("memory_gib");
  if (given > 0) available.device = gibibytes(given);
  return available;
}

bool fits(const MemoryPlan& plan, const AvailableMemory& available) {
  return (!available.device || plan.device.bytes() <= *available.device) &&
         (!available.host || plan.host.bytes() <= *available.host);
}

std::vector<MemoryChange> changes_that_fit(const LoadedRun& run, const ConfigOptions& options, const MemoryWork& work,
                                           const AvailableMemory& available, const Sharding& ranks) {
  std::vector<MemoryChange> found;
  std::vector<std::vector<std::size_t>> sufficient;
  const auto as_it_is = plan_with({}, run, options, work, ranks);
  const auto savings = savings_of(ranks);
  for (std::size_t count = 1; count <= 3; ++count) {
    for (const auto& choice : choices(count, savings.size())) {
      if (std::ranges::any_of(sufficient, [&](const auto& fewer) { return std::ranges::includes(choice, fewer); }))
        continue;
      const auto settings = settings_of(choice, savings, run.config);
      const auto plan = plan_with(settings, run, options, work, ranks);
      if (!plan || !fits(*plan, available) || (as_it_is && plan->device.bytes() >= as_it_is->device.bytes())) continue;
      found.push_back({settings, *plan});
      sufficient.push_back(choice);
      if (found.size() == kMostChanges) return found;
    }
  }
  return found;
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

std::vector<std::string> change_lines(const std::vector<MemoryChange>& changes) {
  std::vector<std::string> lines;
  for (const MemoryChange& change : changes) {
    std::vector<std::string> words;
    for (const std::string& setting : change.settings) words.insert(words.end(), {"--set", setting});
    const std::int64_t host = change.plan.host.bytes();
    lines.push_back(shell_command(words) + "    " + memory_text(change.plan.device.bytes()) +
                    (change.plan.host.always.empty() ? "" : ", and " + memory_text(host) + " of host memory"));
  }
  return lines;
}

Loaded<Rollout> evaluation_rollout(const LoadedRun& run) {
  if (!run.config.has("evaluation.rollout")) return {};
  return create_component<Rollout>(run.plugins->registry, run.config, "evaluation.rollout");
}

void require_memory(const LoadedRun& run, const ConfigOptions& options, const PromptEncoder& prompts,
                    const MakeComponents& make_components) {
  const auto& registry = run.plugins->registry;
  const RunConfig& config = run.config;
  const Sharding ranks{run_ranks().size(), shard_of(config)};
  const auto available =
      available_memory_of(config, run_device(config.section("run").get<std::string>("device")), run_ranks().on_host());
  if (!available.device) return;
  const auto shapes = open_model_shapes(registry, config);
  LossNeeds needs;
  create_component<LossEstimator>(registry, config, "algorithm.loss")->needs(needs);
  const std::int64_t budget = config.section("train").get<std::int64_t>("memory_budget_mib") << 20;
  const auto least = static_cast<double>(least_memory(config, *shapes, needs, ranks) + resident_memory() + budget);
  if (least < kAmple * static_cast<double>(*available.device)) return;

  const auto components = make_components(run, open_training_task(registry, config, prompts).task);
  const auto evaluation = evaluation_rollout(run);
  TrainingPlan plan = plan_training(config, *shapes, prompts, components, evaluation ? &*evaluation : nullptr);
  plan.memory = plan_memory(config, *shapes, memory_work_of_rank(plan.memory_work, ranks.count), ranks);
  take_component_metrics();  // what was counted while planning is no step's
  if (fits(plan.memory, available)) return;
  std::string hint;
  const auto changes = changes_that_fit(run, options, plan.memory_work, available, ranks);
  for (const std::string& line : change_lines(changes))
    hint += (hint.empty() ? "any of these makes it fit:\n      " : "\n      ") + line;
  if (hint.empty()) hint = "a smaller model, or more memory";
  throw Error((ranks.count > 1 ? "this run's ranks do not fit, each: " : "this run does not fit: ") +
                  memory_shortage(plan.memory, available),
              hint + "\n    --dry-run shows the parts; run.memory_gib says how much it may take");
}

}  // namespace drift
