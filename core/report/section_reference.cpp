#include <core/report/section_reference.h>

#include <core/config/config_json.h>
#include <core/config/nearest.h>
#include <core/report/parameter_table.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace drift {
namespace {

const char* command_of(ConfigPurpose purpose) {
  switch (purpose) {
    case ConfigPurpose::kTrain: return "train";
    case ConfigPurpose::kPretrain: return "pretrain";
    case ConfigPurpose::kEval: return "eval";
    case ConfigPurpose::kGenerate: return "generate";
    case ConfigPurpose::kModelOnly: return "model";
    case ConfigPurpose::kJudge: return "reward";
    case ConfigPurpose::kData: return "data";
  }
  return "";
}

/// Who reads it, as a sentence; nothing for a section that nobody needs.
std::string readers_sentence(const SectionSchema& section, const std::string& quote) {
  const std::string commands = readers(section, quote);
  return commands.empty() ? "" : "Read by " + commands + ".";
}

std::string component_title(const ComponentEntry& entry) {
  return std::string(kind_name(entry.kind)) + " `" + entry.name + "`";
}

std::string own_keys_text(const SectionSchema& section) {
  const std::string reading = readers_sentence(section, "");
  return section_title(section) + "  " + section.doc + "\n" + (reading.empty() ? "" : "  " + reading + "\n") + "\n" +
         to_text(parameter_table(section.keys, "key"), /*unicode=*/true, "  ");
}

/// The section of a kind of component under which the page has the parameters: the first one.
const SectionSchema& home_of(ComponentKind kind) {
  return *std::ranges::find(config_sections(), std::optional(kind), &SectionSchema::component);
}

std::string sentence(std::string phrase) {
  phrase[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(phrase[0])));
  return markdown_text(phrase) + ".";
}

std::string own_keys_markdown(const SectionSchema& section) {
  const std::string reading = readers_sentence(section, "`");
  return "\n## `" + section_title(section) + "`\n\n" + sentence(section.doc) + (reading.empty() ? "" : " " + reading) +
         "\n\n" + parameter_markdown(section.keys, "key");
}

std::string components_markdown(const Registry& registry, const SectionSchema& section) {
  const SectionSchema& home = home_of(*section.component);
  if (&home != &section) {
    return "\nIts component has the parameters of [" + section_title(home) + "](#" + home.name + ").\n";
  }
  std::string text;
  for (const ComponentEntry* entry : components_of(registry, section)) {
    text += "\n### " + component_title(*entry) + "\n\n" + markdown_text(entry->doc) + "\n\n" +
            (entry->params.empty() ? "No parameters.\n" : parameter_markdown(entry->params, "parameter"));
  }
  return text;
}

const SectionSchema& section_named(std::string_view name) {
  if (const SectionSchema* section = documented_section(name)) return *section;
  std::vector<std::string> names;
  for (const SectionSchema& known : config_sections()) names.push_back(known.name);
  throw Error("there is no section [" + std::string(name) + "]", name_hint(name, names, "sections"));
}

nlohmann::ordered_json json_of(const Registry& registry, const SectionSchema& section) {
  nlohmann::ordered_json json = {
      {"name", section.name}, {"meaning", section.doc}, {"keys", drift::json_of(section.keys)}};
  if (!section.component) return json;
  json["components"] = nlohmann::ordered_json::array();
  for (const ComponentEntry* entry : components_of(registry, section)) {
    json["components"].push_back(
        {{"name", entry->name}, {"meaning", entry->doc}, {"parameters", drift::json_of(entry->params)}});
  }
  return json;
}

}  // namespace

const SectionSchema* documented_section(std::string_view name) {
  if (const SectionSchema* section = find_section(name)) return section;
  const auto family = std::ranges::find(config_sections(), name, &SectionSchema::name);
  return family == config_sections().end() ? nullptr : &*family;
}

std::vector<const ComponentEntry*> components_of(const Registry& registry, const SectionSchema& section) {
  std::vector<const ComponentEntry*> found;
  for (const ComponentEntry& entry : registry.components()) {
    if (entry.kind == section.component) found.push_back(&entry);
  }
  std::ranges::sort(found, {}, &ComponentEntry::name);
  return found;
}

std::string section_title(const SectionSchema& section) {
  return "[" + section.name + (section.is_family ? ".LABEL" : "") + "]";
}

std::string readers(const SectionSchema& section, const std::string& quote) {
  std::vector<std::string> commands;
  for (const ConfigPurpose purpose : section.needed_for)
    commands.push_back(quote + "drift " + command_of(purpose) + quote);
  return joined(commands);
}

std::string sections_text() {
  std::string text;
  for (const SectionSchema& section : config_sections()) text += (text.empty() ? "" : "\n") + own_keys_text(section);
  return text;
}

std::string section_text(const Registry& registry, std::string_view name) {
  const SectionSchema& section = section_named(name);
  std::string text = own_keys_text(section);
  if (!section.component) return text;
  for (const ComponentEntry* entry : components_of(registry, section)) {
    text += "\n" + component_title(*entry) + ": " + entry->doc + "\n";
    text += entry->params.empty() ? "  no parameters\n"
                                  : to_text(parameter_table(entry->params, "parameter"), /*unicode=*/true, "  ");
  }
  return text;
}

nlohmann::ordered_json sections_json(const Registry& registry, std::string_view name) {
  nlohmann::ordered_json json;
  if (!name.empty()) {
    json["sections"].push_back(json_of(registry, section_named(name)));
    return json;
  }
  for (const SectionSchema& section : config_sections()) json["sections"].push_back(json_of(registry, section));
  return json;
}

std::string configuration_page(const Registry& registry) {
  std::string text =
      "# Configuration\n\n"
      "Every key of a run's TOML file, and every parameter of the components that ship. `drift help KEY` says more of "
      "one\n"
      "key, also which presets set it; `drift config show FILE` prints the values of a run and where they come from. "
      "A key is\n"
      "set in its section, or on the command line with `--set SECTION.KEY=VALUE`. Parameters of a component are set in "
      "the\n"
      "section that names the component.\n";
  for (const SectionSchema& section : config_sections()) {
    text += own_keys_markdown(section);
    if (section.component) text += components_markdown(registry, section);
  }
  return text;
}

}  // namespace drift
