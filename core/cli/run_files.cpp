#include <core/cli/run_files.h>

#include <core/io/json.h>

#include <ATen/Parallel.h>

#include <nlohmann/json.hpp>

#include <sys/resource.h>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

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
  return json_text(list, 1) + "\n";
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
  return json_text(summary, 1) + "\n";
}

std::string shell_command(std::vector<std::string> words, const std::vector<ConfigOverride>& settings) {
  for (const ConfigOverride& setting : settings) {
    if (setting.literal) continue;
    const auto space = setting.flag.find(' ');  // "--set KEY=VALUE"
    words.push_back(setting.flag.substr(0, space));
    if (space != std::string::npos) words.push_back(setting.flag.substr(space + 1));
  }
  return shell_command(words);
}

std::string resume_command(ConfigPurpose purpose, const std::filesystem::path& folder) {
  return shell_command({"drift", purpose == ConfigPurpose::kTrain ? "train" : "pretrain",
                        (folder / "config.toml").string(), "--out", folder.string(), "--resume"});
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
