#include <core/plugin/plugin_page.h>

#include <core/config/schema.h>
#include <core/plugin/plugin_report.h>
#include <core/plugin/preset_table.h>
#include <core/report/parameter_table.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace drift {
namespace {

std::string provider_line(const PluginLoader& loader, const std::string& name) {
  const LoadedPlugin* found = loader.find(name);
  if (found == nullptr) return "Built in.\n";
  return "Plugin `" + found->name + "` " + found->version + ", " + found->licence + ", `" +
         found->path.filename().string() + "`.\n";
}

std::string toml_block(const std::string& lines) { return "\n```toml\n" + lines + "```\n"; }

/// The section of a run's file that chooses a component of this kind.
std::string section_choosing(ComponentKind kind) {
  const auto found = std::ranges::find(config_sections(), std::optional(kind), &SectionSchema::component);
  return found == config_sections().end() ? "" : found->name;
}

std::string component_page(const ComponentEntry& entry, const PluginLoader& loader) {
  std::string kind(kind_name(entry.kind));
  kind[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(kind[0])));
  std::string lines = "[" + section_choosing(entry.kind) + "]\nname = \"" + entry.name + "\"\n";
  for (const Parameter& spec : entry.params) lines += spec.name + " = " + to_toml(spec.default_value) + "\n";
  return "## " + kind + " `" + entry.name + "`\n\n" + markdown_text(entry.doc) + "\n" +
         provider_line(loader, entry.plugin) + toml_block(lines) + "\n" +
         (entry.params.empty() ? "It has no parameters.\n" : parameter_markdown(entry.params, "parameter"));
}

std::string algorithm_page(const Algorithm& algorithm, const Registry& registry, const PluginLoader& loader) {
  std::string text = "## Algorithm `" + algorithm.name + "`\n\n" + markdown_text(algorithm.doc) + "\n" +
                     provider_line(loader, algorithm.plugin);
  if (!algorithm.paper.empty()) text += "Paper: " + markdown_text(algorithm.paper) + ".\n";
  text += "Masking strategy `" + algorithm.masking + "`, loss `" + algorithm.loss + "`.\n";
  std::string lines = "[algorithm]\nname = \"" + algorithm.name + "\"\n";
  if (!algorithm.presets.empty()) lines += "preset = \"" + algorithm.presets.front().name + "\"\n";
  return text + toml_block(lines) + (algorithm.presets.empty() ? "" : "\n" + preset_tables(registry, algorithm.name));
}

}  // namespace

std::string plugin_page(const Registry& registry, const PluginLoader& loader, std::string_view name,
                        const ConfigDocument& document) {
  const Named found = find_named(registry, name, document);
  std::string text = "# " + std::string(name) + "\n";
  for (const Algorithm* algorithm : found.algorithms) text += "\n" + algorithm_page(*algorithm, registry, loader);
  for (const ComponentEntry& entry : found.components) text += "\n" + component_page(entry, loader);
  return text;
}

}  // namespace drift
