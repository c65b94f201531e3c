#include <core/report/key_reference.h>

#include <core/config/config_json.h>
#include <core/config/diagnostic.h>
#include <core/config/nearest.h>
#include <core/config/preset.h>
#include <core/report/parameter_table.h>
#include <core/report/section_reference.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace drift {
namespace {

/// A component and the parameter that it declares.
struct Declared {
  const ComponentEntry* component;
  const Parameter* parameter;
};

const Parameter* find_spec(const std::vector<Parameter>& specs, std::string_view name) {
  const auto found = std::ranges::find(specs, name, &Parameter::name);
  return found == specs.end() ? nullptr : &*found;
}

std::vector<Declared> declared_by(const Registry& registry, const SectionSchema& section, std::string_view name) {
  std::vector<Declared> found;
  for (const ComponentEntry* entry : components_of(registry, section)) {
    if (const Parameter* parameter = find_spec(entry->params, name)) found.push_back({entry, parameter});
  }
  return found;
}

std::string full_key(const SectionSchema& section, std::string_view name) {
  const std::string title = section_title(section);
  return title.substr(1, title.size() - 2) + "." + std::string(name);
}

std::string effect_text(const SectionSchema& section, std::string_view name) {
  const KeyEffect effect = section.effect_of(name);
  switch (effect.role) {
    case KeyRole::kTraining:
      return std::string("what training computes") +
             (effect.on_responses ? ", and how items are answered and judged" : "") +
             (may_change_on_resume(section.name + "." + std::string(name))
                  ? "; --set may change it when a run is resumed"
                  : "");
    case KeyRole::kMeasurement:
      return effect.on_responses ? "how items are answered and judged outside training"
                                 : "no weight and no response; it may change when a run is resumed";
    case KeyRole::kBookkeeping: return "no number; it may change when a run is resumed";
  }
  return "";
}

using Rows = std::vector<std::vector<std::string>>;

/// A row for each value that presets give to the key: "1e-6: first_algorithm paper, release; second_algorithm paper".
Rows preset_rows(const Registry& registry, const std::string& key) {
  std::map<std::string, std::vector<std::string>> algorithms;
  for (const Algorithm& algorithm : registry.algorithms()) {
    std::map<std::string, std::vector<std::string>> presets;
    for (const AlgorithmPreset& file : algorithm.presets) {
      try {
        const Preset preset = read_preset(algorithm, file);
        const auto leaf = preset.layer.leaves.find(key);
        if (leaf != preset.layer.leaves.end()) presets[leaf->second.text()].push_back(file.name);
      } catch (const ConfigError&) {  // told where the preset is used
      }
    }
    for (const auto& [value, names] : presets) algorithms[value].push_back(algorithm.name + " " + joined(names));
  }
  Rows rows;
  for (const auto& [value, names] : algorithms)
    rows.push_back({rows.empty() ? "presets" : "", value + ": " + joined(names, "; ")});
  return rows;
}

/// The names that a key chooses from, where plugins provide them.
std::string choices(const Registry& registry, const SectionSchema& section, std::string_view name) {
  std::vector<std::string> names;
  if (section.component && name == "name") {
    for (const ComponentEntry* entry : components_of(registry, section)) names.push_back(entry->name);
  }
  if (section.name == "algorithm") {
    for (const Algorithm& algorithm : registry.algorithms()) {
      std::string text = algorithm.name;
      if (name == "preset") {
        std::vector<std::string> presets;
        for (const AlgorithmPreset& preset : algorithm.presets) presets.push_back(preset.name);
        text += " (" + joined(presets) + ")";
      }
      names.push_back(text);
    }
  }
  std::ranges::sort(names);
  return joined(names);
}

/// Where a component of the same kind has the parameter too: "[evaluation.rollout]".
std::string other_sections(const SectionSchema& section, std::string_view name) {
  std::vector<std::string> titles;
  for (const SectionSchema& other : config_sections()) {
    const bool declares = section.component && other.component == section.component && &other != &section;
    if (declares && find_spec(section.keys, name) == nullptr) titles.push_back(section_title(other));
  }
  return joined(titles);
}

/// What is to be said of a key whoever declares it.
Rows place_of(const Registry& registry, const SectionSchema& section, std::string_view name,
              const ShortForms& short_forms) {
  const std::string key = full_key(section, name);
  const auto short_form = short_forms.find(key);
  Rows rows = {{"one of", choices(registry, section, name)},
               {"section", section_title(section) + "  " + section.doc},
               {"also in", other_sections(section, name)},
               {"read by", readers(section)},
               {"short form", short_form == short_forms.end() ? "" : short_form->second},
               {"decides", effect_text(section, name)}};
  std::erase_if(rows, [](const std::vector<std::string>& row) { return row.back().empty(); });
  const Rows presets = preset_rows(registry, key);
  rows.insert(rows.end(), presets.begin(), presets.end());
  return rows;
}

std::string own_key_text(const SectionSchema& section, const Parameter& spec, Rows place) {
  Rows rows = {{"type", declared_type(spec)}};
  if (const std::string range = spec.allowed.describe(); !range.empty()) rows.push_back({"range", range});
  rows.push_back({"default", to_toml(spec.default_value)});
  rows.insert(rows.end(), place.begin(), place.end());
  return full_key(section, spec.name) + ": " + spec.doc + "\n" + to_text({.rows = rows}, /*unicode=*/true, "  ");
}

std::string parameter_text(const SectionSchema& section, const std::vector<Declared>& declared, const Rows& place) {
  const std::string kind(kind_name(*section.component));
  std::vector<Parameter> specs;
  for (const Declared& one : declared) {
    specs.push_back(*one.parameter);
    specs.back().name = one.component->name;
  }
  return full_key(section, declared.front().parameter->name) + ": a parameter of the " + kind + "\n" +
         to_text(parameter_table(specs, kind), /*unicode=*/true, "  ") + "\n" +
         to_text({.rows = place}, /*unicode=*/true, "  ");
}

}  // namespace

std::string key_text(const Registry& registry, std::string_view key, const ShortForms& short_forms) {
  const std::string_view name = name_of(key);
  const bool alone = name.size() == key.size();
  const SectionSchema* wanted = alone ? nullptr : documented_section(section_of(key));
  if (!alone && wanted == nullptr) return {};
  std::string text;
  std::set<ComponentKind> shown;
  for (const SectionSchema& section : config_sections()) {
    if (wanted != nullptr && wanted != &section) continue;
    const Parameter* own = find_spec(section.keys, name);
    const auto declared = own == nullptr ? declared_by(registry, section, name) : std::vector<Declared>();
    if (own == nullptr && declared.empty()) continue;
    // The second section of a kind of component is named by the first, and found by its whole key.
    if (own == nullptr && !shown.insert(*section.component).second) continue;
    const auto place = place_of(registry, section, name, short_forms);
    text += (text.empty() ? "" : "\n") +
            (own == nullptr ? parameter_text(section, declared, place) : own_key_text(section, *own, place));
  }
  return text;
}

nlohmann::ordered_json key_json(const Registry& registry, std::string_view key) {
  auto found = nlohmann::ordered_json::array();
  const auto add = [&](const SectionSchema& section, const std::vector<Parameter>& specs,
                       const std::string& component) {
    const Parameter* spec = find_spec(specs, name_of(key));
    if (spec == nullptr) return;
    found.push_back({{"section", section.name}});
    if (!component.empty()) found.back()["component"] = component;
    found.back().update(drift::json_of(*spec));
  };
  for (const SectionSchema& section : config_sections()) {
    if (name_of(key) != key && documented_section(section_of(key)) != &section) continue;
    add(section, section.keys, "");
    for (const ComponentEntry* entry : components_of(registry, section)) add(section, entry->params, entry->name);
  }
  return found;
}

}  // namespace drift
