#include <core/cli/load_run.h>

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
  run.config = resolve_config(document, run.plugins->registry, purpose);
  return run;
}

}  // namespace drift
