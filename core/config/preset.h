#pragma once

#include <core/config/document.h>

#include <drift/registry.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// A preset's file, read, with what it extends below it.
struct Preset {
  std::string name;
  std::string description;
  ConfigLayer layer;                         ///< sections and keys of a run's TOML; all origins are of Kind::kPreset
  std::set<std::string> optional;            ///< keys that a component need not have
  std::map<std::string, std::string> notes;  ///< by key: what somebody should know who takes over its value
  std::map<std::string, std::vector<std::string>> lines;  ///< of its file and of those it extends, for messages
};

/// The preset that is in force: the one that is named, else the first. Null if there is none of that name.
const AlgorithmPreset* preset_in_force(const Algorithm& algorithm, std::string_view name);

/// Read one of the algorithm's presets. Its file has the sections of a run's TOML, and at the top
///
///     description = "…"      one line; every preset has it
///     extends = "train"      another preset of the algorithm, over which this one goes
///
///     [optional]             settings for a component that has them; where the run's has not, the run says so
///     rollout.top_p = 0.95
///
///     [notes]                a text on the value that the preset gives to a key; gone where the value is replaced
///     train.learning_rate = "…"
///
/// Whether its keys exist is checked with the rest of the run: resolve_config.
/// @throws ConfigError with every mistake in these files
Preset read_preset(const Algorithm& algorithm, const AlgorithmPreset& preset);

/// What is wrong with a preset, found by the rules of resolve_config: its file, its keys and its values. Parameters of
/// a component are compared where the registry has that component.
/// @param run  more of a run's TOML, to name the components that the preset meets: `rollout.name`, …
std::vector<Diagnostic> preset_mistakes(const Algorithm& algorithm, const AlgorithmPreset& preset,
                                        const Registry& registry, const std::vector<ConfigOverride>& run = {});

}  // namespace drift
