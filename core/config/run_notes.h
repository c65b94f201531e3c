#pragma once

#include <core/config/merge.h>
#include <core/config/run_config.h>

#include <string>
#include <vector>

namespace drift {

/// See RunConfig::notes.
/// @param file  the one that the user named
std::vector<RunNote> run_notes(const MergedConfig& merged, const RunConfig& config, const std::string& file);

}  // namespace drift
