#pragma once

#include <core/plugin/plugin_loader.h>
#include <drift/registry.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace drift {

/// Text of `drift plugin list`: a table of everything that is registered, one line each.
std::string plugin_list(const Registry& registry, const PluginLoader& loader);

/// Text of `drift plugin info NAME`: every algorithm, component and plugin of this name, with parameters and presets.
/// @throws Error with the nearest name if there is none.
std::string plugin_info(const Registry& registry, const PluginLoader& loader, std::string_view name);

/// Text of `drift plugin check FILE`: judges and loads the file on its own, then tries what it registers: defaults
/// within their ranges, documentation there, components that can be created with their defaults (models and tasks
/// excepted, which may need files).
/// @throws Error naming everything that is wrong.
std::string plugin_check(const std::filesystem::path& file);

}  // namespace drift
