#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace drift::nn {

/// A description's tables as JSON, with "null" for null. @param file  for messages
/// @throws Error naming the line that is no TOML, and for dates, times and lines of more than 2000 characters
nlohmann::json parse_description_toml(std::string_view text, const std::string& file);

}  // namespace drift::nn
