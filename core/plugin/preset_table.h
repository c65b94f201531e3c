#pragma once

#include <drift/registry.h>

#include <string>
#include <string_view>

namespace drift {

/// Text of `drift plugin info NAME --presets`, Markdown: what each preset of an algorithm is, the settings in which
/// they differ, and those that they share. Presets with equal settings have one column.
/// @throws Error with the nearest name if there is no such algorithm; ConfigError if a preset's file has mistakes
std::string preset_tables(const Registry& registry, std::string_view algorithm);

}  // namespace drift
