#pragma once

// What may be typed where a run's file is changed: keys, and the values of those that have a list of values.

#include <drift/registry.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Every key that --set takes: "train.steps". Without those of families, whose sections the user names.
std::vector<std::string> known_keys(const Registry& registry);

/// The values of a key: names of components or presets, choices, true and false. Empty for a number, a path, and what
/// is not known.
std::vector<std::string> known_values(const Registry& registry, std::string_view key);

/// Every section that `drift config docs` takes.
std::vector<std::string> known_sections();

/// Algorithms, components and plugins.
std::vector<std::string> known_names(const Registry& registry);

}  // namespace drift
