#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace drift::nn {

/// A first description of a checkpoint, as TOML: what its config.json and the names and sizes of its tensors tell, and
/// in comments what they do not. Every key of config.json that it cannot place is required to keep its value.
/// @throws Error if the text is not a JSON object
std::string draft_description(const std::string& config_json, const std::string& folder_name,
                              const std::map<std::string, std::vector<std::int64_t>>& tensors);

}  // namespace drift::nn
