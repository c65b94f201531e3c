#pragma once

#include <core/cli/training_run.h>
#include <core/io/run_folder.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace drift {

/// Where the run goes: --out; or runs/NAME, the first of runs/NAME-2, … that holds no run and is in nobody's use.
/// --resume takes the folder of the run whose file it gets, or the last of these.
std::filesystem::path run_path(const TrainingOptions& options, const RunConfig& config);

/// Where a folder that need not be there yet would lie, and the bytes that are free there.
std::pair<std::filesystem::path, std::int64_t> free_space(const std::filesystem::path& folder);

/// A new run's folder. Runs that are started together want the same name: the folder's lock gives it to one of them,
/// and the others take the next.
RunFolder new_folder(const TrainingOptions& options, const RunConfig& config, RunFolder::Existing existing);

/// Whether a run may continue from its checkpoint with these settings. Optimization and length may differ where that is
/// asked for: on the command line, or in the run's own config.toml, which keeps what was asked before.
/// @param settings  those of IdentityOf::kTraining
/// @param file      the configuration's
/// @throws Error naming every other difference
void check_continued(const RunConfig& config, const std::map<std::string, std::string>& settings,
                     const ResumePoint& point, const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace drift
