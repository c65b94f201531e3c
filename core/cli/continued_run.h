#pragma once

#include <core/config/run_config.h>
#include <core/io/run_folder.h>

#include <filesystem>
#include <map>
#include <string>

namespace drift {

/// Whether a run may continue from its checkpoint with these settings. Optimization and length may differ where that is
/// asked for: on the command line, or in the run's own config.toml, which keeps what was asked before.
/// @param settings  those of IdentityOf::kTraining
/// @param file      the configuration's
/// @throws Error naming every other difference
void check_continued(const RunConfig& config, const std::map<std::string, std::string>& settings,
                     const ResumePoint& point, const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace drift
