#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace drift {

/// Call use(object) for every line of a file of JSON Lines; empty lines are none.
/// @param hint  what a line should look like, for messages
/// @throws Error naming file and line if the file cannot be read, a line is not a JSON object, or `use` throws an Error
void for_each_json_line(const std::filesystem::path& path, const std::string& hint,
                        const std::function<void(const nlohmann::json&)>& use);

}  // namespace drift
