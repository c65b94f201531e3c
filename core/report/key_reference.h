#pragma once

// The keys of a run's file, one by one: the core's own, and the parameters of the components that are registered.

#include <drift/registry.h>

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace drift {

/// Key -> the option that is short for it and the commands that have it: "--steps N of train, sweep".
using ShortForms = std::map<std::string, std::string, std::less<>>;

/// Text of `drift help KEY`: type, range, default and meaning, the section and who reads it, the short form, the values
/// in presets. Empty if there is no such key.
/// @param key  with its section, "train.learning_rate", or alone, for every section that has it
std::string key_text(const Registry& registry, std::string_view key, const ShortForms& short_forms);

/// The same for programs: an object for each section, and component, that has the key.
nlohmann::ordered_json key_json(const Registry& registry, std::string_view key);

}  // namespace drift
