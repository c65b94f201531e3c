#include <core/plugin/preset_table.h>

#include <core/config/nearest.h>
#include <core/config/preset.h>
#include <core/report/text_table.h>

#include <drift/error.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace drift {
namespace {

/// Presets whose settings are the same.
struct Column {
  std::vector<std::string> presets;
  std::map<std::string, std::string> settings;  ///< key -> value, both as TOML has them
};

std::string as_code(const std::string& text) { return "`" + text + "`"; }

std::vector<Column> columns_of(const std::vector<Preset>& presets) {
  std::vector<Column> columns;
  for (const Preset& preset : presets) {
    std::map<std::string, std::string> settings;
    for (const auto& [key, leaf] : preset.layer.leaves) settings[key] = leaf.text();
    auto same = columns.begin();
    while (same != columns.end() && same->settings != settings) ++same;
    if (same == columns.end()) same = columns.insert(same, Column{{}, std::move(settings)});
    same->presets.push_back(as_code(preset.name));
  }
  return columns;
}

/// The value that all columns have; nothing where they differ.
std::optional<std::string> shared_value(const std::vector<Column>& columns, const std::string& key) {
  for (const Column& column : columns) {
    const auto found = column.settings.find(key);
    if (found == column.settings.end() || found->second != columns.front().settings.at(key)) return std::nullopt;
  }
  return columns.front().settings.at(key);
}

std::string differences(const std::vector<Column>& columns, const std::set<std::string>& keys,
                        const std::set<std::string>& optional) {
  if (keys.empty()) return {};
  TextTable table{{"setting"}};
  for (const Column& column : columns) table.titles.push_back(joined(column.presets));
  for (const std::string& key : keys) {
    auto& cells = table.rows.emplace_back();
    cells.push_back(as_code(key) + (optional.contains(key) ? ", optional" : ""));
    for (const Column& column : columns) {
      const auto found = column.settings.find(key);
      cells.push_back(found == column.settings.end() ? "" : found->second);
    }
  }
  return "\n" + to_markdown(table);
}

/// One line for each section.
std::string agreement(const std::map<std::string, std::vector<std::string>>& sections) {
  if (sections.empty()) return {};
  std::string text = "\nIn all of them:\n\n";
  for (const auto& [section, settings] : sections)
    text += "- " + as_code("[" + section + "]") + ": " + joined(settings) + "\n";
  return text;
}

const Algorithm& find_algorithm(const Registry& registry, std::string_view name) {
  if (const Algorithm* algorithm = registry.find_algorithm(name)) return *algorithm;
  std::vector<std::string> names;
  for (const Algorithm& algorithm : registry.algorithms()) names.push_back(algorithm.name);
  throw Error("there is no algorithm `" + std::string(name) + "`",
              name_hint(name, names, "algorithms") + "    (drift plugin list)");
}

}  // namespace

std::string preset_tables(const Registry& registry, std::string_view name) {
  const Algorithm& algorithm = find_algorithm(registry, name);
  if (algorithm.presets.empty()) return "no presets\n";
  std::vector<Preset> presets;
  std::set<std::string> optional;
  TextTable list{{"preset", "what it is"}};
  for (const AlgorithmPreset& file : algorithm.presets) {
    presets.push_back(read_preset(algorithm, file));
    list.rows.push_back(
        {as_code(file.name) + (presets.size() == 1 ? ", the default" : ""), presets.back().description});
    optional.insert(presets.back().optional.begin(), presets.back().optional.end());
  }
  const std::vector<Column> columns = columns_of(presets);
  std::set<std::string> differing;
  std::map<std::string, std::vector<std::string>> shared;
  for (const Column& column : columns) {
    for (const auto& [key, value] : column.settings) differing.insert(key);
  }
  for (const auto& [key, value] : columns.front().settings) {
    if (!shared_value(columns, key)) continue;
    differing.erase(key);
    shared[std::string(section_of(key))].push_back(as_code(std::string(name_of(key)) + " = " + value));
  }
  return to_markdown(list) + differences(columns, differing, optional) + agreement(shared);
}

}  // namespace drift
