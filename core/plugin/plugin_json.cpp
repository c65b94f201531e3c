#include <core/plugin/plugin_json.h>

#include <core/config/config_json.h>
#include <core/config/preset.h>
#include <core/plugin/plugin_report.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

Json named(const Algorithm& algorithm) {
  return {{"name", algorithm.name}, {"meaning", algorithm.doc}, {"plugin", algorithm.plugin}};
}

Json named(const ComponentEntry& entry) {
  return {{"kind", kind_name(entry.kind)}, {"name", entry.name}, {"meaning", entry.doc}, {"plugin", entry.plugin}};
}

Json json_of(const Preset& preset) {
  Json json = {{"name", preset.name}, {"meaning", preset.description}, {"settings", Json::object()}};
  for (const auto& [key, leaf] : preset.layer.leaves)
    json["settings"][key] = leaf.value ? drift::json_of(*leaf.value) : Json(leaf.found);
  json["optional"] = preset.optional;
  json["notes"] = Json::object();
  for (const auto& [key, note] : preset.notes) json["notes"][key] = note;
  return json;
}

Json whole(const Algorithm& algorithm) {
  Json json = named(algorithm);
  json["paper"] = algorithm.paper;
  json["masking"] = algorithm.masking;
  json["loss"] = algorithm.loss;
  json["presets"] = Json::array();
  for (const AlgorithmPreset& preset : algorithm.presets)
    json["presets"].push_back(json_of(read_preset(algorithm, preset)));
  return json;
}

Json whole(const ComponentEntry& entry) {
  Json json = named(entry);
  json["parameters"] = drift::json_of(entry.params);
  return json;
}

}  // namespace

Json json_of(const LoadedPlugin& plugin) {
  Json json = {{"name", plugin.name}, {"version", plugin.version},    {"licence", plugin.licence},
               {"tier", plugin.tier}, {"path", plugin.path.string()}, {"sha256", plugin.sha256}};
  return json;
}

Json plugin_list_json(const Registry& registry, const PluginLoader& loader) {
  Json json = {{"plugins", Json::array()},
               {"algorithms", Json::array()},
               {"components", Json::array()},
               {"refused", Json::array()}};
  for (const LoadedPlugin& plugin : loader.loaded()) json["plugins"].push_back(json_of(plugin));
  for (const Algorithm& algorithm : registry.algorithms()) json["algorithms"].push_back(named(algorithm));
  for (const ComponentEntry& entry : registry.components()) json["components"].push_back(named(entry));
  for (const RefusedPlugin& refused : loader.refused())
    json["refused"].push_back({{"path", refused.path.string()}, {"message", refused.message}});
  return json;
}

Json plugin_info_json(const Registry& registry, std::string_view name, const ConfigDocument& document) {
  const Named found = find_named(registry, name, document);
  Json json = {{"algorithms", Json::array()}, {"components", Json::array()}};
  for (const Algorithm* algorithm : found.algorithms) json["algorithms"].push_back(whole(*algorithm));
  for (const ComponentEntry& entry : found.components) json["components"].push_back(whole(entry));
  return json;
}

}  // namespace drift
