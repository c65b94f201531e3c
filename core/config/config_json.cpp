#include <core/config/config_json.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

Json element(double number) { return std::isfinite(number) ? Json(number) : Json(to_toml(Parameter::Value(number))); }
template <class Value>
Json element(const Value& value) {
  return value;
}
template <class Value>
Json element(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(element(value));
  return list;
}

void add_limit(Json& json, const char* name, double limit, bool excluded) {
  if (!std::isfinite(limit)) return;
  json[name] = limit;
  if (excluded) json[name + std::string("_excluded")] = true;
}

}  // namespace

Json json_of(const Parameter::Value& value) {
  return std::visit([](const auto& one) { return element(one); }, value);
}

Json json_of(const Parameter& spec) {
  Json json = {{"name", spec.name},
               {"type", type_name(spec.default_value)},
               {"default", json_of(spec.default_value)},
               {"meaning", spec.doc}};
  add_limit(json, "minimum", spec.allowed.minimum, spec.allowed.minimum_excluded);
  add_limit(json, "maximum", spec.allowed.maximum, spec.allowed.maximum_excluded);
  if (!spec.allowed.choices.empty()) json["choices"] = spec.allowed.choices;
  if (spec.is_path) json["path"] = true;
  return json;
}

Json json_of(const std::vector<Parameter>& specs) {
  Json list = Json::array();
  for (const Parameter& spec : specs) list.push_back(json_of(spec));
  return list;
}

Json json_of(const RunConfig& config) {
  Json values = Json::object();
  for (const ResolvedSection& section : config.sections()) {
    Json& keys = values[section.name] = Json::object();
    for (const ResolvedValue& value : section.values)
      keys[value.name] = {{"value", json_of(value.value)}, {"origin", value.origin.text()}};
  }
  Json notes = Json::array();
  for (const RunNote& note : config.notes()) notes.push_back(note.text);
  return {{"values", values}, {"notes", notes}};
}

}  // namespace drift
