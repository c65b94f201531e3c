#pragma once

// What is needed of a run's own config.toml to look at the run: no plugin, no check.

#include <core/report/watched_run.h>

#include <filesystem>

namespace drift {

/// The defaults where the run is older than the keys, or has no such file. @throws ConfigError
WatchedSettings recorded_settings(const std::filesystem::path& config);

}  // namespace drift
