#include <core/report/known_words.h>

#include <core/config/document.h>
#include <core/report/section_reference.h>

#include <algorithm>
#include <variant>

namespace drift {
namespace {

using Words = std::vector<std::string>;

void add(Words& words, const std::string& word) {
  if (std::ranges::count(words, word) == 0) words.push_back(word);
}

/// The parameters that a section may hold: its own, and those of every component that it may name.
std::vector<const Parameter*> specs_of(const Registry& registry, const SectionSchema& section) {
  std::vector<const Parameter*> specs;
  for (const Parameter& spec : section.keys) specs.push_back(&spec);
  for (const ComponentEntry* entry : components_of(registry, section)) {
    for (const Parameter& spec : entry->params) specs.push_back(&spec);
  }
  return specs;
}

}  // namespace

Words known_keys(const Registry& registry) {
  Words keys;
  for (const SectionSchema& section : config_sections()) {
    if (section.is_family) continue;
    for (const Parameter* spec : specs_of(registry, section)) add(keys, section.name + "." + spec->name);
  }
  return keys;
}

Words known_values(const Registry& registry, std::string_view key) {
  Words values;
  const SectionSchema* section = find_section(section_of(key));
  if (section == nullptr) return values;
  const std::string_view name = name_of(key);
  for (const Algorithm& algorithm : registry.algorithms()) {
    if (key == "algorithm.name") add(values, algorithm.name);
    if (key != "algorithm.preset") continue;
    for (const AlgorithmPreset& preset : algorithm.presets) add(values, preset.name);
  }
  for (const ComponentEntry* entry : components_of(registry, *section)) {
    if (name == "name") add(values, entry->name);
  }
  for (const Parameter* spec : specs_of(registry, *section)) {
    if (spec->name != name) continue;
    for (const std::string& choice : spec->allowed.choices) add(values, choice);
    if (!std::holds_alternative<bool>(spec->default_value)) continue;
    for (const char* word : {"true", "false"}) add(values, word);
  }
  return values;
}

Words known_sections() {
  Words sections;
  for (const SectionSchema& section : config_sections()) add(sections, section.name);
  return sections;
}

Words known_names(const Registry& registry) {
  Words names;
  for (const Algorithm& algorithm : registry.algorithms()) add(names, algorithm.name);
  for (const ComponentEntry& entry : registry.components()) {
    add(names, entry.name);
    add(names, entry.plugin);
  }
  return names;
}

}  // namespace drift
