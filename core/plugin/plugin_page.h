#pragma once

#include <core/config/document.h>
#include <core/plugin/plugin_loader.h>

#include <drift/registry.h>

#include <string>
#include <string_view>

namespace drift {

/// Text of `drift plugin info NAME --markdown`: every algorithm, component and plugin of this name, with an excerpt of
/// a run's TOML that chooses it, its parameters and its presets.
/// @throws Error with the nearest name if there is none; ConfigError if a preset's file has mistakes
/// @param document  as for components_named (plugin_report.h)
std::string plugin_page(const Registry& registry, const PluginLoader& loader, std::string_view name,
                        const ConfigDocument& document = {});

}  // namespace drift
