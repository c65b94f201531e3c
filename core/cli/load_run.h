#pragma once

#include <core/base/component_host.h>
#include <core/cli/command.h>
#include <core/config/run_config.h>
#include <core/plugin/plugin_loader.h>
#include <core/report/watched_run.h>
#include <core/sweep/sweep_plan.h>

#include <drift/registry.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// A TOML file and what the command line changes in it.
struct ConfigOptions {
  std::filesystem::path file;             ///< empty: none
  std::vector<ConfigOverride> overrides;  ///< in the order of the command line: the last one wins
};

/// --set and those of its short forms that the command has: algorithm, model, adapter, task, seed, dtype,
/// device.
void add_settings(OptionList& list, ConfigOptions& options, const std::vector<std::string>& short_forms = {});

/// Another short form: --`name` sets `key`, whose value is not a text.
void add_short_form(OptionList& list, ConfigOptions& options, const std::string& name, const std::string& key);

/// --config FILE with its settings, for commands whose argument is something else.
void add_config(OptionList& list, ConfigOptions& options, const std::vector<std::string>& short_forms = {});

/// --launcher NAME: where the runs of a sweep or the cells of a suite are made (core/sweep/launcher.h).
void add_launcher(OptionList& list, std::string& launcher);

/// CHECKPOINT_DIR, and the TOML file of the run that it is used in.
struct CheckpointOptions {
  std::filesystem::path folder;  ///< as it was typed
  ConfigOptions config;          ///< likewise

  /// `config` with this checkpoint as its model or, where the folder holds an adapter, as the adapter of the model
  /// that it was trained on. Without --config the file is that of the run that made the checkpoint.
  /// @param needed  a key that the command cannot do without: "task.name"; empty: none
  /// @throws Error if the folder is not there, or nothing says what `needed` is
  ConfigOptions run(const std::string& needed = {}) const;
};

void add_checkpoint(OptionList& list, CheckpointOptions& options, const std::vector<std::string>& short_forms = {});

/// What is registered, and which plugins brought it.
struct Plugins {
  Registry registry;
  PluginLoader loader{registry};
};

/// The program's file, bin/drift beside the lib/ of this library: also where that is in a process of Python.
std::filesystem::path program_path();

/// What happens to a file that did not come with the program before its code is loaded.
enum class ForeignFiles {
  kLoaded,
  kTriedFirst,  ///< in a child process: what would end this one is a refusal
};

/// Every plugin of the given files and folders and of the usual places. Those of a folder that are refused are in
/// loader.refused().
/// @throws Error if a file that was named is refused.
std::unique_ptr<Plugins> load_plugins(const std::vector<std::filesystem::path>& configured_paths = {},
                                      ForeignFiles foreign = ForeignFiles::kLoaded);

/// Those that a run of this file would have.
std::unique_ptr<Plugins> load_plugins(const ConfigOptions& options, ForeignFiles foreign = ForeignFiles::kLoaded);

/// Every plugin that any of the documents asks for. Standard error names those that were refused.
std::unique_ptr<Plugins> load_plugins_for(const std::vector<ConfigDocument>& documents);

/// The component of that name. @param plural  of its kind. @throws UsageError with the nearest name
const ComponentEntry& known_component(const Registry& registry, ComponentKind kind, const std::string& name,
                                      const std::string& plural);

/// Why plugins were refused, one text each; of very many the first and a count. Fit to be printed.
std::vector<std::string> refusals(const PluginLoader& loader);

/// The text with ALGORITHM and MODEL replaced by the first ones that are installed: this folder names none itself.
std::string with_installed_names(std::string text);

/// A checked run: its plugins are loaded, its weights are not.
struct LoadedRun {
  std::unique_ptr<Plugins> plugins;
  RunConfig config;
  std::unique_ptr<RunHost> run_host;

  RunHost& host() const { return *run_host; }
  const Registry& registry() const { return plugins->registry; }
  std::filesystem::path model_folder() const { return config.get<ModelSettings>().path; }
  /// run.seed
  std::uint64_t seed() const { return config.get<RunSettings>().seed; }
};

/// Read, load and check what the command line asks for.
/// @throws ConfigError, Error
LoadedRun load_run(const ConfigOptions& options, ConfigPurpose purpose);

/// The plan of a sweep, and the plugins that its runs are made with.
struct LoadedSweep {
  std::unique_ptr<Plugins> plugins;
  SweepPlan plan;
};

/// Read and check a sweep's file. @throws ConfigError
LoadedSweep load_sweep(const ConfigOptions& options);

/// Where `drift sweep` puts what it makes unless --out says otherwise.
std::filesystem::path default_sweep_folder(const SweepPlan& plan);

/// A value of a run's own config.toml; nothing where it has none.
std::optional<Parameter::Value> recorded_value(const std::filesystem::path& config, const std::string& key);

/// What is needed of a run's own config.toml to look at the run: no plugin, no check. The defaults where the run is
/// older than the keys, or has no such file. @throws ConfigError
WatchedSettings recorded_settings(const std::filesystem::path& config);

}  // namespace drift
