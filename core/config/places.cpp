#include <core/config/resolve.h>

#include <core/config/nearest.h>
#include <core/config/schema.h>

#include <algorithm>

namespace drift {
namespace {

bool is_family(std::string_view name) {
  return std::ranges::any_of(config_sections(), [&](const SectionSchema& s) { return s.is_family && s.name == name; });
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const SectionSchema& schema : config_sections())
    names.push_back(schema.name + (schema.is_family ? ".LABEL" : ""));
  return names;
}

bool is_place_for_a_section(const std::string& table) {
  const std::string parent(section_of(table));
  return find_section(table) != nullptr || is_family(table) || (!parent.empty() && find_section(parent) == nullptr);
}

/// Sections of files that are more than a run: what such a file is called, and the command that takes it.
struct ForeignSection {
  std::string_view section, file, command;
};
constexpr ForeignSection kForeignSections[] = {
    {"sweep", "a sweep's file", "drift sweep"},
    {"suite", "a suite's file", "drift eval CHECKPOINT --suite"},
};

const ForeignSection* foreign_section(std::string_view table) {
  const auto* found = std::ranges::find(kForeignSections, table.substr(0, table.find('.')), &ForeignSection::section);
  return found == std::end(kForeignSections) ? nullptr : found;
}

std::string misplaced(const ForeignSection& foreign, const ConfigDocument& document, const Origin& origin) {
  const std::string section = "[" + std::string(foreign.section) + "]", file(foreign.file);
  if (origin.kind == Origin::Kind::kCommandLine) return "the command line cannot change " + section;
  if (origin.where == document.file)
    return "this is " + file + ": " + std::string(foreign.command) + " " + document.file;
  return file + " cannot be extended; extend the files that it extends";
}

Diagnostic unknown_section(const ConfigDocument& document, const std::string& table, const Origin& origin) {
  const SectionSchema* section = find_section(section_of(table));
  if (section != nullptr && std::ranges::count(names_of(section->keys), name_of(table)) > 0) {
    return document.at(origin, origin.key, "`" + table + "` is a value, not a section");
  }
  Diagnostic wrong = document.at(origin, origin.key, "unknown section [" + table + "]");
  const std::string nearest = nearest_name(table, section_names());
  if (!nearest.empty()) wrong.label = "did you mean [" + nearest + "]?";
  if (const auto* foreign = foreign_section(table)) wrong.label = misplaced(*foreign, document, origin);
  wrong.notes = {"sections: " + joined(section_names())};
  return wrong;
}

Diagnostic outside_any_section(const ConfigDocument& document, const std::string& key, const Origin& origin) {
  if (find_section(key) != nullptr) {
    Diagnostic wrong = document.at(origin, origin.key, "`" + key + "` is a section, not a value");
    wrong.label = "write [" + key + "] and its values below";
    return wrong;
  }
  Diagnostic wrong = document.at(origin, origin.key, "`" + key + "` is outside any section");
  wrong.label = home_of_key(key);
  for (const SectionSchema& section : config_sections()) {
    const std::string nearest = wrong.label.empty() ? nearest_name(key, names_of(section.keys)) : "";
    if (!nearest.empty()) wrong.label = "did you mean `" + nearest + "`? " + home_of_key(nearest);
  }
  wrong.notes = {"sections: " + joined(section_names())};
  return wrong;
}

}  // namespace

std::vector<Diagnostic> find_misplaced(const ConfigDocument& document, const MergedConfig& merged) {
  std::vector<Diagnostic> mistakes;
  for (const auto& [table, origin] : merged.tables) {
    if (!is_place_for_a_section(table)) mistakes.push_back(unknown_section(document, table, origin));
  }
  for (const auto& [key, leaf] : merged.leaves) {
    const std::string section(section_of(key));
    if (section.empty()) mistakes.push_back(outside_any_section(document, key, leaf.origin));
    if (!is_family(section)) continue;
    mistakes.push_back(document.at(leaf.origin, leaf.origin.key, "`" + key + "` is outside any section"));
    mistakes.back().label = "write [" + section + ".LABEL], with a label of your choice";
  }
  return mistakes;
}

std::string home_of_key(std::string_view name) {
  std::vector<std::string> homes;
  for (const SectionSchema& schema : config_sections()) {
    if (name != "name" && !schema.is_family && std::ranges::count(names_of(schema.keys), name) > 0)
      homes.push_back("[" + schema.name + "]");
  }
  return homes.empty() ? "" : "it belongs to " + joined(homes);
}

std::vector<std::string> names_of(const std::vector<Parameter>& specs) {
  std::vector<std::string> names;
  for (const Parameter& spec : specs) names.push_back(spec.name);
  return names;
}

}  // namespace drift
