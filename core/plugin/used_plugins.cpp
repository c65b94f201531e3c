#include <core/config/schema.h>
#include <core/io/checksum.h>
#include <core/io/json.h>
#include <core/plugin/plugin_json.h>
#include <core/plugin/used_plugins.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

/// The component that a section of the run chooses; null if it chooses none.
const ComponentEntry* chosen_component(const ResolvedSection& section, const RunConfig& config,
                                       const Registry& registry) {
  const auto kind = find_section(section.name)->component;
  return kind ? registry.find(*kind, config.component(section.name)) : nullptr;
}

/// The files that declare components which the run has of this plugin (ComponentEntry::declaration).
Json declaring_files(const LoadedPlugin& plugin, const RunConfig& config, const Registry& registry) {
  std::map<std::string, std::string> files;
  for (const ResolvedSection& section : config.sections()) {
    const ComponentEntry* entry = chosen_component(section, config, registry);
    if (entry == nullptr || !entry->declaration || entry->plugin != plugin.name) continue;
    for (const ResolvedValue& value : section.values) {
      const bool declares = std::ranges::count(entry->params, value.name, &Parameter::name) > 0;
      const auto* path = declares && value.is_path ? std::get_if<std::string>(&value.value) : nullptr;
      if (path == nullptr || !std::filesystem::is_regular_file(file_of(*path))) continue;
      files[file_of(*path).string()] = sha256_of_file(file_of(*path));
    }
  }
  Json list;
  for (const auto& [path, sha256] : files) list.push_back({{"path", path}, {"sha256", sha256}});
  return list;
}

/// Null if the text is damaged.
nlohmann::json recorded_plugins(const std::string& text) {
  try {
    return parse_json(text, "plugins.json");
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

std::vector<const LoadedPlugin*> used_plugins(const RunConfig& config, const Registry& registry,
                                              const PluginLoader& loader) {
  std::set<std::string> names;
  for (const ResolvedSection& section : config.sections()) {
    if (const ComponentEntry* entry = chosen_component(section, config, registry)) names.insert(entry->plugin);
  }
  const Algorithm* algorithm =
      config.has("algorithm") ? registry.find_algorithm(config.component("algorithm")) : nullptr;
  if (algorithm != nullptr) names.insert(algorithm->plugin);
  std::vector<const LoadedPlugin*> used;
  for (const LoadedPlugin& plugin : loader.loaded()) {
    if (names.contains(plugin.name)) used.push_back(&plugin);
  }
  return used;
}

std::string used_plugins_json(const std::vector<const LoadedPlugin*>& plugins, const RunConfig& config,
                              const Registry& registry) {
  auto list = Json::array();
  for (const LoadedPlugin* plugin : plugins) {
    list.push_back(json_of(*plugin));
    if (Json files = declaring_files(*plugin, config, registry); !files.empty())
      list.back()["files"] = std::move(files);
  }
  return json_text(list, 1) + "\n";
}

std::vector<std::string> changed_plugins(const std::filesystem::path& file,
                                         const std::vector<const LoadedPlugin*>& plugins) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return {};
  const nlohmann::json recorded = recorded_plugins(read_json_text(file));
  std::vector<std::string> lines;
  for (const LoadedPlugin* plugin : plugins) {
    const auto of_this_name = [&](const nlohmann::json& entry) {
      return entry.is_object() && entry.value("name", nlohmann::json()) == plugin->name;
    };
    const auto then = std::ranges::find_if(recorded, of_this_name);
    if (!recorded.is_array() || then == recorded.end()) continue;
    const auto text = [&](const char* key) {
      const auto found = then->find(key);
      return found != then->end() && found->is_string() ? found->get<std::string>() : std::string("?");
    };
    if (text("sha256") == plugin->sha256) continue;
    lines.push_back("plugin `" + plugin->name + "` has changed: " + text("version") + " with SHA-256 " +
                    text("sha256").substr(0, 12) + " then, " + plugin->version + " with " +
                    plugin->sha256.substr(0, 12) + " now (" + plugin->path.string() + ")");
  }
  return lines;
}

}  // namespace drift
