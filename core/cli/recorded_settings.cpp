#include <core/cli/recorded_settings.h>

#include <core/config/document.h>
#include <core/config/schema.h>

#include <map>
#include <string>
#include <variant>

namespace drift {

WatchedSettings recorded_settings(const std::filesystem::path& config) {
  WatchedSettings settings;
  std::map<std::string, Parameter::Value> alarms;
  if (std::filesystem::exists(config)) {
    for (const ConfigLayer& layer : load_document(config, {}).layers) {
      for (const auto& [key, leaf] : layer.leaves) {
        if (!leaf.value) continue;
        if (section_of(key) == "alarms") alarms[std::string(name_of(key))] = *leaf.value;
        // A run has one of them.
        if (key == "train.steps" || key == "pretrain.steps") settings.steps = std::get<std::int64_t>(*leaf.value);
      }
    }
  }
  settings.limits = settings_from<AlarmLimits>(Parameters(declared_keys<AlarmLimits>(), alarms));
  return settings;
}

}  // namespace drift
