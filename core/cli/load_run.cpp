#include <core/cli/load_run.h>

#include <core/components/compatibility.h>
#include <core/components/components.h>

#include <algorithm>
#include <iostream>

namespace drift {

std::filesystem::path program_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

std::unique_ptr<Plugins> load_plugins(const std::vector<std::filesystem::path>& configured_paths) {
  auto plugins = std::make_unique<Plugins>();
  std::vector<std::filesystem::path> folders;
  for (const std::filesystem::path& path : configured_paths) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) {
      plugins->loader.load_file(path, "[plugins] paths");
    } else {
      folders.push_back(path);
    }
  }
  for (const SearchPath& folder : plugin_search_paths(folders, program_path())) plugins->loader.load_folder(folder);
  return plugins;
}

namespace {

/// The value of `section.name` in the configuration.
const ResolvedValue& component_name(const RunConfig& config, std::string_view section) {
  for (const ResolvedSection& found : config.sections()) {
    if (found.name == section) return found.values.front();
  }
  throw Error("the configuration has no section [" + std::string(section) + "]");
}

// Two parts may each be right and not go together: told like any other mistake in the file, before anything is opened.
void check_parts_fit(const ConfigDocument& document, const Registry& registry, const RunConfig& config) {
  const auto masking = create_component<MaskingStrategy>(registry, config, "algorithm.masking");
  const auto loss = create_component<LossEstimator>(registry, config, "algorithm.loss");
  const std::string why = mismatch(*masking, *loss);
  if (why.empty()) return;
  const ResolvedValue* chosen = &component_name(config, "algorithm");
  for (const char* section : {"algorithm.masking", "algorithm.loss"}) {
    const ResolvedValue& name = component_name(config, section);
    if (name.origin.kind == Origin::Kind::kFile || name.origin.kind == Origin::Kind::kCommandLine) chosen = &name;
  }
  Diagnostic wrong =
      document.at(chosen->origin, chosen->origin.value,
                  "loss `" + loss.name() + "` and masking strategy `" + masking.name() + "` do not go together");
  wrong.notes = {"the loss " + why, "which masking strategy goes with which loss: drift plugin pairs"};
  throw ConfigError({std::move(wrong)});
}

}  // namespace

RunConfig resolve_run(const ConfigDocument& document, const Registry& registry, ConfigPurpose purpose) {
  RunConfig config = resolve_config(document, registry, purpose);
  if (purpose == ConfigPurpose::kTrain) check_parts_fit(document, registry, config);
  return config;
}

std::unique_ptr<Plugins> load_plugins_for(const std::vector<ConfigDocument>& documents) {
  std::vector<std::filesystem::path> paths;
  for (const ConfigDocument& document : documents) {
    for (const std::filesystem::path& path : plugin_paths(document)) {
      if (std::ranges::count(paths, path) == 0) paths.push_back(path);
    }
  }
  auto plugins = load_plugins(paths);
  // A plugin that did not load may be why a name is unknown: say it before the mistakes.
  for (const RefusedPlugin& refused : plugins->loader.refused()) std::cerr << "warning: " << refused.message << "\n\n";
  return plugins;
}

LoadedRun load_run(const CommandLine& line, ConfigPurpose purpose) {
  const ConfigDocument document = load_document(line.config, line.overrides);
  LoadedRun run;
  run.plugins = load_plugins_for({document});
  run.config = resolve_run(document, run.plugins->registry, purpose);
  return run;
}

}  // namespace drift
