#include <core/reference/key_candidates.h>

#include <core/config/document.h>
#include <core/config/schema.h>

#include <algorithm>
#include <variant>

namespace drift {
namespace {

/// A word is explained by the first that brings it.
void add(std::vector<Candidate>& candidates, const std::string& word, const std::string& doc) {
  if (std::ranges::count(candidates, word, &Candidate::word) == 0) candidates.push_back({word, doc});
}

/// The parameters that a section may hold: its own, and those of every component that it may name.
std::vector<const ParamSpec*> specs_of(const Registry& registry, const SectionSchema& section) {
  std::vector<const ParamSpec*> specs;
  for (const ParamSpec& spec : section.keys) specs.push_back(&spec);
  for (const ComponentEntry& entry : registry.components()) {
    if (entry.kind != section.component) continue;
    for (const ParamSpec& spec : entry.params) specs.push_back(&spec);
  }
  return specs;
}

void add_algorithms(std::vector<Candidate>& candidates, const Registry& registry, std::string_view key) {
  for (const Bundle& bundle : registry.bundles()) {
    if (key == "name") add(candidates, bundle.name, bundle.doc);
    if (key != "preset") continue;
    for (const BundlePreset& preset : bundle.presets) add(candidates, preset.name, "of " + bundle.name);
  }
}

}  // namespace

std::vector<Candidate> key_candidates(const Registry& registry) {
  std::vector<Candidate> keys;
  for (const SectionSchema& section : config_sections()) {
    if (section.is_family) continue;
    for (const ParamSpec* spec : specs_of(registry, section)) add(keys, section.name + "." + spec->name, spec->doc);
  }
  return keys;
}

std::vector<Candidate> value_candidates(const Registry& registry, std::string_view key) {
  std::vector<Candidate> values;
  const SectionSchema* section = find_section(section_of(key));
  if (section == nullptr) return values;
  const std::string_view name = name_of(key);
  if (section->name == "algorithm") add_algorithms(values, registry, name);
  for (const ComponentEntry& entry : registry.components()) {
    if (name == "name" && entry.kind == section->component) add(values, entry.name, entry.doc);
  }
  for (const ParamSpec* spec : specs_of(registry, *section)) {
    if (spec->name != name) continue;
    for (const std::string& choice : spec->range.choices) add(values, choice, spec->doc);
    if (!std::holds_alternative<bool>(spec->default_value)) continue;
    for (const char* word : {"true", "false"}) add(values, word, spec->doc);
  }
  return values;
}

std::vector<Candidate> section_candidates() {
  std::vector<Candidate> sections;
  for (const SectionSchema& section : config_sections()) add(sections, section.name, section.doc);
  return sections;
}

std::vector<Candidate> name_candidates(const Registry& registry) {
  std::vector<Candidate> names;
  for (const Bundle& bundle : registry.bundles()) add(names, bundle.name, bundle.doc);
  for (const ComponentEntry& entry : registry.components()) {
    add(names, entry.name, entry.doc);
    add(names, entry.plugin, "a plugin");
  }
  return names;
}

}  // namespace drift
