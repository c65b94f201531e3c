#pragma once

#include <core/cli/command.h>
#include <core/config/run_config.h>
#include <core/plugin/plugin_loader.h>

#include <drift/registry.h>

#include <filesystem>
#include <memory>
#include <vector>

namespace drift {

/// What is registered, and which plugins brought it.
struct Plugins {
  Registry registry;
  PluginLoader loader{registry};
};

/// The file of the running program.
std::filesystem::path program_path();

/// Every plugin of the given files and folders and of the usual places. Those of a folder that are refused are in
/// loader.refused().
/// @throws Error if a file that was named is refused.
std::unique_ptr<Plugins> load_plugins(const std::vector<std::filesystem::path>& configured_paths);

/// Every plugin that any of the documents asks for; standard error tells of those that were refused.
std::unique_ptr<Plugins> load_plugins_for(const std::vector<ConfigDocument>& documents);

/// A checked run: its plugins are loaded, its weights are not.
struct LoadedRun {
  std::unique_ptr<Plugins> plugins;
  RunConfig config;
};

/// Read, load and check what the command line asks for.
/// @throws ConfigError, Error
LoadedRun load_run(const CommandLine& line, ConfigPurpose purpose);

}  // namespace drift
