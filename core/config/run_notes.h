#pragma once

#include <core/config/merge.h>
#include <core/config/run_config.h>

#include <string>
#include <vector>

namespace drift {

/// What somebody should know before the run starts, one line each: see RunConfig::notes.
std::vector<std::string> run_notes(const MergedConfig& merged, const RunConfig& config);

}  // namespace drift
