#pragma once

// Plugins for the tests: the good ones of the build, their components, and files with another descriptor.

#include <core/boundary/made.h>
#include <core/plugin/plugin_loader.h>

#include <drift/abi.h>

#include <tests/support/support.h>

#include <cstring>

namespace drift::test {

inline std::filesystem::path built_plugin(const std::string& name) {
  return build_dir() / "tests" / "plugins" / ("lib" + name + ".so");
}

/// What the plugin test_NAME registers.
inline const Registry& registry_of(const std::string& name) {
  static std::map<std::string, Registry> registries;
  const auto [place, is_new] = registries.try_emplace(name);
  if (is_new) PluginLoader(place->second).load_file(built_plugin("test_" + name));
  return place->second;
}

/// A component of the plugin test_NAME, behind the checks of the core.
template <class T>
Made<T> make(const std::string& name, const std::string& component,
             const std::map<std::string, Parameter::Value>& values = {}, const ModelConfig* config = nullptr) {
  const ComponentEntry& entry = *registry_of(name).find(T::kKind, component);
  return make_from_plugin<T>(test::host(), entry, Parameters(entry.params, values), config);
}

/// Of an example: its component has the plugin's name.
template <class T>
Made<T> make(const std::string& example, const std::map<std::string, Parameter::Value>& values = {},
             const ModelConfig* config = nullptr) {
  return make<T>(example, example, values, config);
}

/// The bytes of a plugin's file with its descriptor changed.
template <class Descriptor>
std::string with_descriptor(const std::string& plugin, const std::function<void(Descriptor&)>& change) {
  std::string bytes = read_file(built_plugin(plugin));
  const auto place = bytes.find(std::string(DRIFT_PLUGIN_MAGIC) + std::string(4, '\0'));
  if (place == std::string::npos) throw std::runtime_error("no descriptor in plugin " + plugin);
  Descriptor descriptor;
  std::memcpy(&descriptor, bytes.data() + place, sizeof descriptor);
  change(descriptor);
  std::memcpy(bytes.data() + place, &descriptor, sizeof descriptor);
  return bytes;
}

}  // namespace drift::test
