#include "tests/support/plugins.h"

#include "tests/support/support.h"

#include <core/plugin/plugin_loader.h>

namespace drift::test {

const Registry& load_plugin(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Registry>> loaded;
  auto& registry = loaded[name];
  if (!registry) {
    auto fresh = std::make_unique<Registry>();
    PluginLoader(*fresh).load_file(build_dir() / "lib/drift/plugins" / ("lib" + name + ".so"));
    registry = std::move(fresh);
  }
  return *registry;
}

std::vector<std::string> plugin_names() {
  std::vector<std::string> names;
  for (const std::string& file : names_in(build_dir() / "lib/drift/plugins")) {
    if (file.ends_with(".so")) names.push_back(file.substr(3, file.size() - 6));  // libNAME.so
  }
  return names;
}

const Registry& all_plugins() {
  static Registry registry;
  static PluginLoader loader(registry);  // what it has loaded stays
  static const bool loaded = [] {
    loader.load_folder({build_dir() / "lib/drift/plugins", "the build"});
    return loader.refused().empty();
  }();
  if (!loaded) throw std::runtime_error("a plugin of the build is refused: " + loader.refused().front().message);
  return registry;
}

RunHost& host() {
  static const Registry none;
  return host_of(none);
}

RunHost& host_of(const Registry& registry) {
  static std::map<const Registry*, RunHost> hosts;
  return hosts.try_emplace(&registry, registry).first->second;
}

Parameter::Value param_from_text(const ComponentEntry& component, const std::string& name, const std::string& text) {
  for (const Parameter& spec : component.params) {
    if (spec.name != name) continue;
    if (std::holds_alternative<bool>(spec.default_value)) return text == "true";
    if (std::holds_alternative<std::int64_t>(spec.default_value)) return static_cast<std::int64_t>(std::stoll(text));
    if (std::holds_alternative<double>(spec.default_value)) return std::stod(text);
    return text;
  }
  throw std::runtime_error("`" + component.name + "` has no parameter `" + name + "`");
}

}  // namespace drift::test
