#include <core/plugin/plugin_report.h>

#include <core/base/component_host.h>
#include <core/config/merge.h>
#include <core/config/nearest.h>
#include <core/config/preset.h>
#include <core/report/format.h>
#include <core/report/parameter_table.h>

#include <drift/error.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;
using Row = std::vector<std::string>;

std::string plugin_line(const PluginLoader& loader, const std::string& name) {
  const LoadedPlugin* plugin = loader.find(name);
  if (plugin == nullptr) return name.empty() ? "built in" : name;
  return plugin->name + " " + plugin->version + " (" + plugin->licence + ", tier " + plugin->tier + ")  " +
         plugin->path.string();
}

std::string parameters_text(const std::vector<Parameter>& specs) {
  return specs.empty() ? "  no parameters\n" : to_text(parameter_table(specs, "parameter"), /*unicode=*/true, "  ");
}

std::string component_text(const ComponentEntry& entry, const PluginLoader& loader) {
  return std::string(kind_name(entry.kind)) + " `" + entry.name + "`\n  " + entry.doc + "\n  plugin  " +
         plugin_line(loader, entry.plugin) + "\n\n" + parameters_text(entry.params) +
         (entry.declaration
              ? "  further parameters follow from these: name the run's file with --config, or set them with --set\n"
              : "");
}

std::string algorithm_text(const Algorithm& algorithm, const PluginLoader& loader) {
  std::vector<Row> parts = {{"paper", algorithm.paper},
                            {"masking", algorithm.masking},
                            {"loss", algorithm.loss},
                            {"plugin", plugin_line(loader, algorithm.plugin)}};
  if (algorithm.paper.empty()) parts.erase(parts.begin());
  std::string text = "algorithm `" + algorithm.name + "`\n  " + algorithm.doc + "\n" +
                     to_text({.rows = parts}, /*unicode=*/true, "  ");
  for (const AlgorithmPreset& file : algorithm.presets) {
    const Preset preset = read_preset(algorithm, file);
    text += "\n  preset `" + preset.name + "`" + (&file == &algorithm.presets.front() ? " (default)" : "") + ": " +
            preset.description + "\n";
    std::vector<Row> rows;
    for (const auto& [key, leaf] : preset.layer.leaves) {
      const std::string owner(name_of(section_of(key)));
      rows.push_back(
          {key, "=", leaf.text(), preset.optional.contains(key) ? "only where the " + owner + " has it" : ""});
    }
    text += rows.empty() ? "    no settings of its own\n" : to_text({.rows = rows}, /*unicode=*/true, "    ");
    for (const auto& [key, note] : preset.notes) text += "    note: " + key + " was " + note + "\n";
  }
  return text;
}

/// What is wrong with an algorithm's presets: the first line of each mistake and its place.
void check_presets(const Algorithm& algorithm, const Registry& registry, std::vector<std::string>& problems) {
  for (const AlgorithmPreset& preset : algorithm.presets) {
    for (const Diagnostic& mistake : preset_mistakes(algorithm, preset, registry)) {
      if (mistake.file != preset.origin) continue;  // said for the preset that this one extends
      problems.push_back("preset `" + preset.name + "` of `" + algorithm.name + "`: " + mistake.message + "    (" +
                         mistake.file + ":" + std::to_string(mistake.span.line) + ")");
    }
  }
}

/// What is wrong with the declaration of a component, one line each.
void check_component(const ComponentEntry& entry, std::vector<std::string>& problems) {
  const std::string name = std::string(kind_name(entry.kind)) + " `" + entry.name + "`";
  if (entry.doc.empty()) problems.push_back(name + " has no documentation");
  std::set<std::string> seen;
  for (const Parameter& spec : entry.params) {
    const std::string parameter = "parameter `" + spec.name + "` of " + name;
    if (!seen.insert(spec.name).second) problems.push_back(parameter + " is declared twice");
    if (spec.doc.empty()) problems.push_back(parameter + " has no documentation");
    if (const std::string wrong = spec.violation(spec.default_value); !wrong.empty())
      problems.push_back("the default of " + parameter + " " + wrong + ", not " + to_toml(spec.default_value));
  }
}

/// Components that the file declares, of any kind. @throws Error, the first, if none reads it
std::vector<ComponentEntry> declared_by(const fs::path& file, const Registry& registry) {
  std::vector<ComponentEntry> found;
  std::optional<Error> refusal;
  for (const ComponentEntry& entry : registry.components()) {
    const auto path = std::ranges::find(entry.params, true, &Parameter::is_path);
    if (!entry.declaration || path == entry.params.end()) continue;
    try {
      found.push_back(with_declaration(entry, {{path->name, fs::absolute(file).lexically_normal().string()}}));
    } catch (const Error& error) {
      if (!refusal) refusal = error;
    }
  }
  if (found.empty() && refusal) throw Error(*refusal);
  return found;
}

}  // namespace

std::string plugin_list(const Registry& registry, const PluginLoader& loader) {
  std::vector<Row> rows;
  const auto add = [&](std::string_view kind, const std::string& name, const std::string& plugin_name) {
    const LoadedPlugin* plugin = loader.find(plugin_name);
    rows.push_back(plugin == nullptr
                       ? Row{std::string(kind), name, "", "", "built in"}
                       : Row{std::string(kind), name, plugin->version, plugin->tier, plugin->path.string()});
  };
  std::vector<const ComponentEntry*> entries;
  for (const ComponentEntry& entry : registry.components()) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
    return a->kind != b->kind ? a->kind < b->kind : a->name < b->name;
  });
  for (const Algorithm& algorithm : registry.algorithms()) add("algorithm", algorithm.name, algorithm.plugin);
  std::stable_sort(rows.begin(), rows.end());
  for (const ComponentEntry* entry : entries) add(kind_name(entry->kind), entry->name, entry->plugin);
  if (rows.empty()) return "no plugin is loaded\n";
  rows.insert(rows.begin(), {"kind", "name", "version", "tier", "plugin file"});
  return to_text({.rows = rows});
}

std::vector<ComponentEntry> components_named(const Registry& registry, std::string_view name,
                                             const ConfigDocument& document) {
  const MergedConfig merged = merge_layers(document, registry);
  std::vector<ComponentEntry> found;
  for (const ComponentEntry& entry : registry.components()) {
    if (entry.name == name || entry.plugin == name) found.push_back(declared_entry(entry, merged));
  }
  std::error_code ignored;
  return found.empty() && fs::is_regular_file(file_of(name), ignored) ? declared_by(name, registry) : found;
}

Named find_named(const Registry& registry, std::string_view name, const ConfigDocument& document) {
  Named found{{}, components_named(registry, name, document)};
  std::set<std::string> names;
  for (const Algorithm& algorithm : registry.algorithms()) {
    if (algorithm.name == name || algorithm.plugin == name) found.algorithms.push_back(&algorithm);
    names.insert(algorithm.name);
  }
  if (!found.algorithms.empty() || !found.components.empty()) return found;
  for (const ComponentEntry& entry : registry.components()) names.insert(entry.name);
  throw Error("there is no algorithm, component or plugin `" + std::string(name) + "`",
              name_hint(name, {names.begin(), names.end()}, "names") + "    (drift plugin list)");
}

std::string plugin_info(const Registry& registry, const PluginLoader& loader, std::string_view name,
                        const ConfigDocument& document) {
  const Named found = find_named(registry, name, document);
  std::string text;
  for (const Algorithm* algorithm : found.algorithms)
    text += (text.empty() ? "" : "\n") + algorithm_text(*algorithm, loader);
  for (const ComponentEntry& entry : found.components)
    text += (text.empty() ? "" : "\n") + component_text(entry, loader);
  return text;
}

std::vector<std::string> declaration_mistakes(const Registry& registry) {
  std::vector<std::string> problems;
  for (const ComponentEntry& entry : registry.components()) check_component(entry, problems);
  for (const Algorithm& algorithm : registry.algorithms()) check_presets(algorithm, registry, problems);
  if (registry.components().empty() && registry.algorithms().empty()) problems.push_back("it registers nothing");
  return problems;
}

std::string plugin_summary(const Registry& registry, const LoadedPlugin& plugin) {
  std::vector<Row> rows = {{"plugin", plugin.name + " " + plugin.version},
                           {"licence", plugin.licence},
                           {"tier", plugin.tier},
                           {"compiler", plugin.compiler},
                           {"file", plugin.path.string()},
                           {"sha256", plugin.sha256}};
  if (!plugin.warning.empty()) rows.push_back({"warning", plugin.warning});
  for (const Algorithm& algorithm : registry.algorithms()) rows.push_back({"algorithm", algorithm.name});
  for (const ComponentEntry& entry : registry.components()) {
    rows.push_back(
        {std::string(kind_name(entry.kind)), entry.name + ", " + count_of(std::ssize(entry.params), "parameter")});
  }
  return to_text({.rows = rows});
}

}  // namespace drift
