#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <string_view>

// JSON files from outside: read within bounds, changed without touching what stays the same.

namespace drift {

/// Parse a text that must be an object.
/// @param file  for messages
/// @throws Error if it is no JSON object, or is nested deeper than 64 levels: what works through a value level by level
/// (comparing, printing it) then cannot run out of stack, here or in a plugin that is handed the text.
nlohmann::json parse_json_object(std::string_view text, const std::string& file);

/// The text of a JSON file. @throws Error if it cannot be read or is larger than 64 MB, far beyond any checkpoint's.
std::string read_json_text(const std::filesystem::path& path);

}  // namespace drift
