#include <core/eval/cell.h>

#include <core/io/atomic.h>
#include <core/io/json.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace drift {
namespace {

bool counts(std::string_view section, const ResolvedValue& value) {
  // [rollout] is training's; evaluation.rollout begins as a copy of it.
  constexpr std::array<std::string_view, 6> kSections = {"model", "prompt", "task", "reward", "evaluation.rollout",
                                                         "run"};
  const bool section_counts = std::ranges::count(kSections, section) > 0 || section.starts_with("reward.");
  if (!section_counts) return section == "evaluation" && value.name == "samples";
  if (section == "run") return value.name == "seed";
  if (section == "model" && value.name == "initialize") return false;
  // A path says where a file lies; what the file holds shows in the items.
  const auto is_path = [](const std::string& text) { return text.starts_with('/'); };
  if (const auto* text = std::get_if<std::string>(&value.value)) return !is_path(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value.value))
    return std::ranges::none_of(*texts, is_path);
  return true;
}

}  // namespace

std::string EvaluationCell::name() const {
  return task + "-" + std::to_string(length) + (schedule.empty() ? "" : "-" + schedule);
}

std::map<std::string, std::string> values_that_count(const RunConfig& config) {
  std::map<std::string, std::string> values;
  for (const ResolvedSection& section : config.sections()) {
    for (const ResolvedValue& value : section.values) {
      if (counts(section.name, value)) values[section.name + "." + value.name] = to_toml(value.value);
    }
  }
  return values;
}

std::vector<std::string> differences(const CellSettings& there, const CellSettings& here) {
  std::vector<std::string> lines;
  if (there.checkpoint_checksum != here.checkpoint_checksum)
    lines.push_back("another checkpoint: " + there.checkpoint + " there, " + here.checkpoint + " here");
  auto keys = there.values;
  keys.insert(here.values.begin(), here.values.end());
  const auto shown = [](const CellSettings& settings, const std::string& key) {
    const auto found = settings.values.find(key);
    return found == settings.values.end() ? "nothing" : found->second;
  };
  for (const auto& [key, value] : keys) {
    if (shown(there, key) != shown(here, key))
      lines.push_back(key + ": " + shown(there, key) + " there, " + shown(here, key) + " here");
  }
  return lines;
}

void write_settings(const std::filesystem::path& file, const CellSettings& settings) {
  const nlohmann::ordered_json json = {{"checkpoint", settings.checkpoint},
                                       {"checkpoint_checksum", settings.checkpoint_checksum},
                                       {"responses", settings.responses},
                                       {"settings", settings.values}};
  write_file_atomically(file, json_text(json, 1) + "\n");
}

CellSettings read_settings(const std::filesystem::path& file) {
  const nlohmann::json json = read_json_object(file);
  try {
    return {json.at("checkpoint"), json.at("checkpoint_checksum"), json.at("responses"), json.at("settings")};
  } catch (const nlohmann::json::exception& error) {
    throw Error(file.string() + " does not say what its cell was made with: " + error.what(),
                "the file was changed by something else; choose another folder by --out");
  }
}

}  // namespace drift
