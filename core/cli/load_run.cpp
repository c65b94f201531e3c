#include <core/cli/load_run.h>

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

LoadedRun load_run(const CommandLine& line, ConfigPurpose purpose) {
  const ConfigDocument document = load_document(line.config, line.overrides);
  LoadedRun run;
  run.plugins = load_plugins(plugin_paths(document));
  // A plugin that did not load may be why a name is unknown: say it before the mistakes.
  for (const RefusedPlugin& refused : run.plugins->loader.refused())
    std::cerr << "warning: " << refused.message << "\n\n";
  run.config = resolve_config(document, run.plugins->registry, purpose);
  return run;
}

}  // namespace drift
