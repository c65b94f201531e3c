#pragma once

#include <drift/error.h>
#include <drift/registry.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// A folder in which plugins are looked for.
struct SearchPath {
  std::filesystem::path folder;
  std::string origin;      ///< for people: "[plugins] paths", "DRIFT_PLUGIN_PATH", "beside the program", "installed"
  bool must_exist = true;  ///< a folder that somebody named, and not just the usual place
};

/// What DRIFT_PLUGIN_PATH lists, separated by colons, as it stands there.
std::vector<std::filesystem::path> environment_plugin_folders();

/// Where plugins are looked for, in this order: `configured_paths` (the TOML's [plugins] paths, already resolved
/// against the file they stand in), DRIFT_PLUGIN_PATH (separated by colons), lib/drift/plugins beside the program's bin
/// folder, drift/plugins beside libdrift. Each folder appears once.
std::vector<SearchPath> plugin_search_paths(const std::vector<std::filesystem::path>& configured_paths,
                                            const std::filesystem::path& program_path);

struct LoadedPlugin {
  std::string name;
  std::string version;
  std::string licence;
  std::string tier;
  std::filesystem::path path;  ///< canonical
  std::string origin;          ///< of its search path; "named" where the file was named
  std::string sha256;
  std::string compiler;
  std::string warning;   ///< what is unusual about it though it loads; empty as a rule
  bool shipped = false;  ///< from a folder that came with the program
};

struct RefusedPlugin {
  std::filesystem::path path;
  std::string message;  ///< whole, of several lines: what is wrong, then "   = " and what to do
};

/// Loads plugins into a registry: first the handshake, read from the file; only then the code. Plugins stay loaded
/// until exit. A component or algorithm with the name of a shipped one is refused, whichever was loaded first; the rest
/// of its plugin stays.
class PluginLoader {
 public:
  explicit PluginLoader(Registry& registry) : registry_(registry) {}

  /// Load every *.so of a folder, in the order of their names. A plugin that is refused does not stop the others: see
  /// refused().
  void load_folder(const SearchPath& search_path);

  /// Load one file. A file that is loaded already is left alone.
  /// @throws Error if it is refused. The registry is then as it was before.
  void load_file(const std::filesystem::path& file, const std::string& origin = "named") {
    load_file(file, origin, /*shipped=*/false);
  }

  /// Called before the code of a file is loaded that did not come with the program; throws Error to refuse it.
  using Gate = std::function<void(const std::filesystem::path& file)>;
  void set_gate(Gate gate) { gate_ = std::move(gate); }

  const std::vector<LoadedPlugin>& loaded() const { return loaded_; }
  const std::vector<RefusedPlugin>& refused() const { return refused_; }
  /// The loaded one of this name; null if there is none.
  const LoadedPlugin* find(std::string_view name) const;

 private:
  void load_file(const std::filesystem::path& file, const std::string& origin, bool shipped);
  void refuse(const std::filesystem::path& path, const Error& error);
  /// @param add  registers what the plugin brings
  void register_components(const LoadedPlugin& plugin, const std::function<void()>& add);
  bool is_shipped(const std::string& plugin) const;
  /// Puts back what other plugins had registered, but for what has the name of something that this shipped plugin has.
  void put_back(const LoadedPlugin& shipped, std::vector<ComponentEntry> components, std::vector<Algorithm> algorithms);

  Registry& registry_;
  Gate gate_;
  std::vector<LoadedPlugin> loaded_;
  std::vector<RefusedPlugin> refused_;
};

}  // namespace drift
