#pragma once

#include <core/config/preset.h>
#include <core/config/run_config.h>

#include <string>
#include <vector>

namespace drift {

/// The preset's notes on values that the run takes from it, one line each.
std::vector<std::string> preset_notes(const Preset& preset, const RunConfig& config);

}  // namespace drift
