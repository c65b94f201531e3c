#include <core/cli/run_files.h>

#include <core/io/checksum.h>

#include <ATen/Parallel.h>

#include <nlohmann/json.hpp>

#include <sys/resource.h>
#include <algorithm>
#include <array>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

bool numbers_depend_on(const ResolvedSection& section, std::string_view name) {
  if (section.name == "plugins" || section.name.starts_with("evaluation")) return false;
  if (section.name == "run") return name == "seed";
  if (section.name != "train" && section.name != "pretrain") return true;
  // A run may be made longer, unless its learning rate falls towards its end.
  if (name == "steps") return section.params.get<std::string>("schedule") != "constant";
  constexpr std::array<std::string_view, 3> kBookkeeping = {"checkpoint_every", "keep_checkpoints",
                                                            "memory_budget_mib"};
  return std::find(kBookkeeping.begin(), kBookkeeping.end(), name) == kBookkeeping.end();
}

}  // namespace

std::string config_hash(const RunConfig& config) {
  std::string text;
  for (const ResolvedSection& section : config.sections()) {
    for (const ResolvedValue& value : section.values) {
      if (numbers_depend_on(section, value.name))
        text += section.name + "." + value.name + "=" + to_toml(value.value) + "\n";
    }
  }
  return checksum(text);
}

std::string plugins_json(const PluginLoader& loader) {
  auto list = Json::array();
  for (const LoadedPlugin& plugin : loader.loaded()) {
    list.push_back({{"name", plugin.name},
                    {"version", plugin.version},
                    {"licence", plugin.licence},
                    {"tier", plugin.tier},
                    {"path", plugin.path.string()},
                    {"sha256", plugin.sha256}});
  }
  return list.dump(1) + "\n";
}

std::string summary_json(const RunConfig& config, const LoopResult& result) {
  Json summary;
  summary["version"] = DRIFT_VERSION;
  if (config.has("algorithm")) summary["algorithm"] = config.component("algorithm");
  summary["model"] = config.component("model");
  summary["task"] = config.component("task");
  summary["seed"] = config.section("run").get<std::int64_t>("seed");
  summary["device"] = config.section("run").get<std::string>("device");
  summary["threads"] = at::get_num_threads();
  summary["steps"] = result.last_step;
  summary["interrupted"] = result.signal != 0;
  summary["seconds"] = result.seconds;
  summary["peak_memory_mib"] = peak_memory_mib();
  summary["checkpoint"] = result.checkpoint.filename().string();
  if (!result.warnings.empty()) summary["warnings"] = result.warnings;
  if (result.after) {
    Json held_out;
    if (result.before) {
      held_out["before"] = result.before->accuracy;
      held_out["before_standard_error"] = result.before->standard_error;
    }
    held_out["after"] = result.after->accuracy;
    held_out["standard_error"] = result.after->standard_error;
    held_out["items"] = result.after->items;
    summary["held_out"] = held_out;
  }
  return summary.dump(1) + "\n";
}

std::string resume_command(ConfigPurpose purpose, const std::filesystem::path& folder) {
  return std::string("drift ") + (purpose == ConfigPurpose::kTrain ? "train " : "pretrain ") +
         (folder / "config.toml").string() + " --out " + folder.string() + " --resume";
}

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

std::filesystem::path run_path(const CommandLine& line, const RunConfig& config) {
  return line.out.empty() ? std::filesystem::path("runs") / config.section("run").get<std::string>("name") : line.out;
}

}  // namespace drift
