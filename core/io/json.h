#pragma once

#include <nlohmann/json_fwd.hpp>

#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// JSON: read within bounds, written in one way, changed without touching what stays the same.

namespace drift {

/// Parse a text that must be an object.
/// @param where  the file, or file and line, for messages
/// @throws Error with the place in the text and what was expected there, if it is no JSON object; if it is nested
/// deeper than 64 levels: what works through a value level by level (comparing, printing it) then cannot run out of
/// stack, here or in a plugin that is handed the text.
nlohmann::json parse_json_object(std::string_view text, const std::string& where,
                                 const std::string& hint = "the file is damaged: fetch or write it again");

/// The same of a text that may be any value, as nlohmann::json or nlohmann::ordered_json.
template <class JsonType = nlohmann::json>
JsonType parse_json(std::string_view text, const std::string& where,
                    const std::string& hint = "the file is damaged: fetch or write it again");

/// What an exception of the library says, without its name: "cannot use at() with array"; of a text that is no JSON
/// also the place: "line 1, column 2: …".
std::string json_problem(const std::exception& error);

/// The text of a JSON file. @throws Error if it cannot be read or is larger than 16 MB, far beyond any checkpoint's.
std::string read_json_text(const std::filesystem::path& path);
nlohmann::json read_json_object(const std::filesystem::path& path);

/// Call use(object, its text) for every line of a file of JSON Lines; empty lines are none.
/// @param hint  what a line should look like, for messages
/// @throws Error naming file and line if the file cannot be read, a line is not a JSON object, or `use` throws an Error
void for_each_json_line(const std::filesystem::path& path, const std::string& hint,
                        const std::function<void(const nlohmann::json&, std::string_view)>& use);

/// A number of an object; kUnknown where there is none of that name.
double json_number(const nlohmann::json& object, const char* name);
double json_number(const nlohmann::ordered_json& object, const char* name);

/// What is no UTF-8, as half of a character that a model wrote, becomes U+FFFD.
/// @param indent  spaces a level; -1: all on one line
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

/// The value of a key as it is written, with every digit of a number. @param text  valid JSON, an object
/// Empty if there is no such key.
std::string_view json_source(std::string_view text, std::string_view key);

/// The text of a JSON object with one value replaced and every other byte as it was. A text without that value comes
/// back unchanged.
/// @param text   valid JSON, an object
/// @param keys   leads from the outermost object to the value
/// @param value  JSON
std::string replace_json_value(std::string_view text, const std::vector<std::string_view>& keys,
                               std::string_view value);

}  // namespace drift
