#pragma once

#include <string>
#include <vector>

namespace drift::nn {

/// The models that add_described() added in this process whose description selects this config.json.
std::vector<std::string> models_that_take(const std::string& config_json);

}  // namespace drift::nn
