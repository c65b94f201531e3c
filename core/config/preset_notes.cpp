#include <core/config/preset_notes.h>

#include <algorithm>

namespace drift {
namespace {

/// The text is also a comment of the resolved file, which it must not end.
std::string on_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

std::vector<std::string> preset_notes(const Preset& preset, const RunConfig& config) {
  std::vector<std::string> notes;
  for (const auto& [key, text] : preset.notes) {
    const ResolvedValue* value = config.find(key);
    if (value == nullptr || value->origin.kind != Origin::Kind::kPreset) continue;
    notes.push_back(key + " = " + to_toml(value->value) + " (" + value->origin.text() + ") was " + on_one_line(text));
  }
  return notes;
}

}  // namespace drift
