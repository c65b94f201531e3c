#pragma once

// Which plugins a run uses, and whether they are still the ones that a folder's plugins.json names.

#include <core/config/run_config.h>
#include <core/plugin/plugin_loader.h>

#include <drift/registry.h>

#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// Those that the algorithm and the components of the configuration come from, in the order in which they were loaded.
std::vector<const LoadedPlugin*> used_plugins(const RunConfig& config, const Registry& registry,
                                              const PluginLoader& loader);

/// The contents of plugins.json: name, version, licence, tier, path and SHA-256 of each, and "files": path and SHA-256
/// of those that declare its components (ComponentEntry::declaration).
std::string used_plugins_json(const std::vector<const LoadedPlugin*>& plugins, const RunConfig& config,
                              const Registry& registry);

/// One line for each of `plugins` whose SHA-256 differs from that in `file`, a plugins.json. What the file does not
/// name has not changed; nothing if there is no such file, or none that can be read.
std::vector<std::string> changed_plugins(const std::filesystem::path& file,
                                         const std::vector<const LoadedPlugin*>& plugins);

}  // namespace drift
