#pragma once

// Components as the program gets them: from the plugin's file, through the loader, with checked parameters.

#include "tests/support/support.h"

#include <drift/registry.h>

#include <core/base/component_host.h>

namespace drift::test {

/// The registry after loading lib/drift/plugins/libNAME.so of the build tree. Loaded once per process.
const Registry& load_plugin(const std::string& name);

/// The plugins of the build tree, sorted.
std::vector<std::string> plugin_names();

/// The registry after loading every plugin of the build tree.
const Registry& all_plugins();

/// The host of a run, for components of any registry.
RunHost& host();
/// The same with what is registered there.
RunHost& host_of(const Registry& registry);

/// A component of `plugin` with the given parameters over its defaults.
template <class Interface>
std::unique_ptr<Interface> create(const std::string& plugin, const std::string& component,
                                  const std::map<std::string, Parameter::Value>& values = {}) {
  const ComponentEntry* entry = load_plugin(plugin).find(Interface::kKind, component);
  if (entry == nullptr) throw std::runtime_error("plugin `" + plugin + "` has no " + component);
  auto made = host().make(*entry, Parameters(entry->params, values));
  auto* typed = dynamic_cast<Interface*>(made.get());
  if (typed == nullptr) throw std::runtime_error(component + " of plugin `" + plugin + "` has another type");
  made.release();
  return std::unique_ptr<Interface>(typed);
}

/// `text` as the type that `component` declares for its parameter `name`, as if it stood in the configuration.
Parameter::Value param_from_text(const ComponentEntry& component, const std::string& name, const std::string& text);

}  // namespace drift::test
