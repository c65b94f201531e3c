#pragma once

// Small files and texts of a run's folder.

#include <core/cli/command.h>
#include <core/config/run_config.h>
#include <core/plugin/plugin_loader.h>
#include <core/train/loop.h>

#include <filesystem>
#include <string>

namespace drift {

/// Every loaded plugin with version, file and checksum.
std::string plugins_json(const PluginLoader& loader);

std::string summary_json(const RunConfig& config, const LoopResult& result);

/// What the user types to go on.
/// A command of this program as a shell takes it, with the settings that were given on the command line behind it;
/// those that are literal were not given there.
std::string shell_command(std::vector<std::string> words, const std::vector<ConfigOverride>& settings);
std::string resume_command(ConfigPurpose purpose, const std::filesystem::path& folder);

/// Largest resident memory of this process so far.
double peak_memory_mib();

/// Where the run goes: --out, or runs/NAME.
std::filesystem::path run_path(const CommandLine& line, const RunConfig& config);

}  // namespace drift
