#include <core/config/preset_notes.h>

#include <core/config/merge.h>

#include <algorithm>

namespace drift {
namespace {

/// The value of a key of the run, for example "train.learning_rate". Null if the run does not read it.
const ResolvedValue* find_value(const RunConfig& config, std::string_view key) {
  for (const ResolvedSection& section : config.sections()) {
    if (section.name != section_of(key)) continue;
    const auto found = std::ranges::find(section.values, name_of(key), &ResolvedValue::name);
    if (found != section.values.end()) return &*found;
  }
  return nullptr;
}

/// The text stands in a comment of the resolved file, too, which it must not end.
std::string on_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

bool is_note(std::string_view key) { return key.starts_with(kNotePrefix); }

std::vector<std::string> preset_notes(const RunConfig& config, const Registry& registry) {
  std::vector<std::string> notes;
  if (!config.has("algorithm")) return notes;
  const Params& algorithm = config.section("algorithm");
  const Bundle* bundle = registry.find_bundle(algorithm.get<std::string>("name"));
  if (bundle == nullptr) return notes;
  const BundlePreset* preset = preset_in_force(*bundle, algorithm.get<std::string>("preset"));
  if (preset == nullptr) return notes;
  for (const BundleSetting& setting : preset->settings) {
    if (!is_note(setting.key)) continue;
    const std::string key = setting.key.substr(kNotePrefix.size());
    const ResolvedValue* value = find_value(config, key);
    const auto* text = std::get_if<std::string>(&setting.value);
    if (value == nullptr || value->origin.kind != Origin::Kind::kPreset || text == nullptr) continue;
    notes.push_back(key + " = " + to_toml(value->value) + " (" + value->origin.text() + ") was " + on_one_line(*text));
  }
  return notes;
}

}  // namespace drift
