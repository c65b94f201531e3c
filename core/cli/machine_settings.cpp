#include <core/cli/machine_settings.h>

#include <core/base/device.h>
#include <core/base/memory.h>
#include <core/boundary/checked.h>
#include <core/cli/memory_check.h>
#include <core/kernels/product.h>
#include <core/ranks/ranks.h>
#include <core/train/memory_plan.h>

#include <algorithm>

namespace drift {
namespace {

constexpr const char* kProductsKey = "run.bfloat16_products";
constexpr const char* kAsBegun = "as the run was begun";
constexpr const char* kShareOfMemory = "a share of the device's memory after weights and states";

/// Null where the file has a budget.
const char* budget_left_to_the_machine(const RunConfig& config) {
  for (const char* key : {"train.memory_budget_mib", "pretrain.memory_budget_mib"}) {
    const ResolvedValue* value = config.find(key);
    if (value != nullptr && value->value == Parameter::Value(std::int64_t{0})) return key;
  }
  return nullptr;
}

std::int64_t memory_budget_mib(const Ranks& ranks, RunHost& host, const RunConfig& config, const Model& shapes,
                               std::optional<at::Device> device) {
  const auto run = config.get<RunSettings>();
  auto total = device ? total_memory(*device) : std::nullopt;
  if (total && run.on_cpu()) total = *total / ranks.on_host();
  if (run.memory_gib > 0) total = static_cast<std::int64_t>(run.memory_gib * (1 << 30));
  constexpr std::int64_t kUnknown = 1024;
  if (!total) return kUnknown;
  const LossNeeds needs = config.has("reference")
                              ? checked_needs(*create_component<LossEstimator>(host, config, "algorithm.loss"))
                              : LossNeeds();
  const std::int64_t least = least_memory(config, shapes, needs, run_sharding(ranks, config));
  return default_memory_budget(*total, least, run.on_cpu()) >> 20;
}

std::string settle_budget(RunConfig& config, const char* key, std::int64_t mib, const char* why) {
  config.settle(key, mib, why);
  return std::string(key) + " = " + std::to_string(mib) + ": " + why;
}

/// Collective: what the own file of a run that goes on has for the key; empty if there is none.
std::string recorded_text(Ranks& ranks, const fs::path& resumed, const std::string& key) {
  std::optional<Parameter::Value> value;
  if (ranks.is_first() && !resumed.empty()) value = recorded_value(resumed / "config.toml", key);
  const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
  return ranks.broadcast(text != nullptr ? *text : value ? to_toml(*value) : "");
}

}  // namespace

std::string settle_memory_budget(const Ranks& ranks, RunHost& host, RunConfig& config, const Model& shapes,
                                 std::optional<at::Device> device) {
  const char* const key = budget_left_to_the_machine(config);
  if (key == nullptr) return "";
  return settle_budget(config, key, memory_budget_mib(ranks, host, config, shapes, device), kShareOfMemory);
}

std::string settle_memory_budget(Ranks& ranks, LoadedRun& run, const Model& shapes, const fs::path& resumed) {
  const char* const key = budget_left_to_the_machine(run.config);
  if (key == nullptr) return "";
  const std::string begun = recorded_text(ranks, resumed, key);
  if (!begun.empty() && begun != "0") return settle_budget(run.config, key, std::stoll(begun), kAsBegun);
  const auto device = run_device(run.config.get<RunSettings>().device_name());
  std::vector<std::int64_t> of_ranks;
  for (const std::string& mib :
       ranks.all_gather(std::to_string(memory_budget_mib(ranks, run.host(), run.config, shapes, device))))
    of_ranks.push_back(std::stoll(mib));
  return settle_budget(run.config, key, std::ranges::min(of_ranks), kShareOfMemory);
}

void settle_products(Ranks& ranks, RunConfig& config, const fs::path& resumed) {
  const auto run = config.get<RunSettings>();
  if (run.bfloat16_products != RunSettings::kAuto || !run.on_cpu() || !config.get<ModelSettings>().bfloat16) return;
  const std::string begun = recorded_text(ranks, resumed, kProductsKey);
  if (!begun.empty() && begun != RunSettings::kAuto) return config.settle(kProductsKey, begun, kAsBegun);
  const bool native = kernels::measured_bfloat16_products() == kernels::Bfloat16Products::kNative;
  config.settle(kProductsKey, std::string(native ? "native" : "widened"), kernels::processor_kind());
}

}  // namespace drift
