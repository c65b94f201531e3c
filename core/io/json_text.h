#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// JSON files from outside: read within bounds, changed without touching what stays the same.

namespace drift {

/// Parse a text that must be an object.
/// @param file  for messages
/// @throws Error if it is not a JSON object, or is nested deeper than 64 levels: code that processes a value level by
/// level (comparing, printing it) then cannot run out of stack, here or in a plugin that is handed the text.
nlohmann::json parse_json_object(std::string_view text, const std::string& file);

/// The text of a JSON file. @throws Error if it cannot be read or is larger than 16 MB, far beyond any checkpoint's.
std::string read_json_text(const std::filesystem::path& path);

/// The text of a JSON object with one value replaced and every other byte as it was. A text without that value comes
/// back unchanged.
/// @param text   valid JSON, an object
/// @param keys   leads from the outermost object to the value
/// @param value  JSON
std::string replace_json_value(std::string_view text, const std::vector<std::string_view>& keys,
                               std::string_view value);

}  // namespace drift
