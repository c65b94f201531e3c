#pragma once

// What `drift plugin list` and `drift plugin info` say, as programs read it.

#include <core/config/document.h>
#include <core/plugin/plugin_loader.h>

#include <drift/registry.h>

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace drift {

/// Name, version, licence, tier, path and checksum of a plugin.
nlohmann::ordered_json json_of(const LoadedPlugin& plugin);

/// {"plugins": […], "algorithms": […], "components": […], "refused": […]}
nlohmann::ordered_json plugin_list_json(const Registry& registry, const PluginLoader& loader);

/// {"algorithms": […], "components": […]}: those of this name, or of the plugin of this name, with presets and
/// parameters. @throws ConfigError if a preset's file has mistakes
/// @param document  as for plugin_info
nlohmann::ordered_json plugin_info_json(const Registry& registry, std::string_view name,
                                        const ConfigDocument& document = {});

}  // namespace drift
