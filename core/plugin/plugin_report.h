#pragma once

#include <core/config/document.h>
#include <core/plugin/plugin_loader.h>

#include <drift/registry.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Text of `drift plugin list`: a table of everything that is registered, one line each.
std::string plugin_list(const Registry& registry, const PluginLoader& loader);

/// Every component of this name, or of the plugin of this name, and, where it is a file, of those that it declares
/// (ComponentEntry::declaration): "my_loss.py:SoftClip".
/// @param document  the values that declarations follow from
/// @throws Error if a declaration has mistakes
std::vector<ComponentEntry> components_named(const Registry& registry, std::string_view name,
                                             const ConfigDocument& document);

/// Every algorithm of this name, or of the plugin of this name, and its components.
struct Named {
  std::vector<const Algorithm*> algorithms;
  std::vector<ComponentEntry> components;
};
/// @param document  as for components_named
/// @throws Error with the nearest name if there is none
Named find_named(const Registry& registry, std::string_view name, const ConfigDocument& document);

/// Text of `drift plugin info NAME`: every algorithm, component and plugin of this name, with parameters and presets.
/// @param document  as for components_named
/// @throws Error with the nearest name if there is none.
std::string plugin_info(const Registry& registry, const PluginLoader& loader, std::string_view name,
                        const ConfigDocument& document = {});

/// A table of what a plugin is and registers; the registry holds nothing else.
std::string plugin_summary(const Registry& registry, const LoadedPlugin& plugin);

/// What is wrong with what a plugin declares, one line each: documentation, defaults within their ranges, presets.
std::vector<std::string> declaration_mistakes(const Registry& registry);

}  // namespace drift
