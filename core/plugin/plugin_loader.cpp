#include <core/plugin/plugin_loader.h>

#include <core/boundary/last_word.h>
#include <core/boundary/plugin_call.h>
#include <core/io/checksum.h>
#include <core/plugin/handshake.h>
#include <core/plugin/pure_plugin.h>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;
using EntryFunction = const DriftPluginEntry*();

/// Libraries are never unloaded: components, their type information and exceptions in flight live in them.
const DriftPluginEntry* load(const fs::path& file, const std::string& name) {
  static auto& kept = *new std::vector<boost::dll::shared_library>;
  const Callee plugin{"plugin `" + name + "`"};
  const PluginCall call(plugin, "loading");
  boost::dll::shared_library library;
  watch_exit();
  try {
    library.load(file, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  } catch (const std::exception& error) {
    throw Error("plugin `" + name + "` cannot be loaded: " + error.what() + "\n  --> " + file.string(),
                "rebuild it: a library that it needs is missing, or this libdrift lacks a symbol that it needs");
  }
  if (!library.has(DRIFT_PLUGIN_SYMBOL)) {
    throw Error("plugin `" + name + "` does not export " DRIFT_PLUGIN_SYMBOL "\n  --> " + file.string(),
                "build it with drift_add_plugin(), which exports it");
  }
  watch_exit();  // before what the plugin itself does at exit
  const DriftPluginEntry* entry = library.get<EntryFunction>(DRIFT_PLUGIN_SYMBOL)();
  kept.push_back(std::move(library));
  return entry;
}

/// Registers what a plugin of any tier brings.
void call_registration(const DriftPluginEntry& entry, std::uint32_t tier, Registry& registry) {
  if (tier == DRIFT_TIER_PURE) {
    // The entries of both tiers have one layout; only what the function takes differs.
    register_pure(registry, reinterpret_cast<const DriftPureEntry&>(entry).register_components);
  } else {
    entry.register_components(&registry);
  }
}

/// The bytes in memory must be those that were judged: a file may have been replaced in between.
void check_entry(const DriftPluginEntry* entry, const DriftPluginDescriptor& judged, const fs::path& file) {
  const auto is_judged = [&] {
    const DriftPluginDescriptor loaded = descriptor_in_memory(entry->descriptor, judged);
    return std::memcmp(&loaded, &judged, sizeof(judged)) == 0;
  };
  if (entry == nullptr || entry->struct_size < sizeof(DriftPluginEntry) || entry->descriptor == nullptr ||
      entry->register_components == nullptr || !is_judged()) {
    throw Error("plugin `" + descriptor_text(judged.name) + "` is not what its file declares\n  --> " + file.string(),
                "the file is damaged, or was replaced during loading: build or copy it again");
  }
}

std::string full_message(const Error& error) {
  return error.hint().empty() ? std::string(error.what()) : std::string(error.what()) + "\n   = " + error.hint();
}

}  // namespace

std::vector<fs::path> environment_plugin_folders() {
  std::vector<fs::path> found;
  const char* variable = std::getenv("DRIFT_PLUGIN_PATH");
  std::istringstream folders(variable == nullptr ? "" : variable);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty()) found.emplace_back(folder);
  }
  return found;
}

std::vector<SearchPath> plugin_search_paths(const std::vector<fs::path>& configured_paths,
                                            const fs::path& program_path) {
  std::vector<SearchPath> paths;
  std::set<fs::path> known;
  const auto add = [&](const fs::path& folder, const std::string& origin, bool must_exist) {
    const fs::path normal = fs::weakly_canonical(fs::absolute(folder));
    if (known.insert(normal).second) paths.push_back({normal, origin, must_exist});
  };
  for (const fs::path& folder : configured_paths) add(folder, "[plugins] paths", true);
  for (const fs::path& folder : environment_plugin_folders()) add(folder, "DRIFT_PLUGIN_PATH", true);
  if (!program_path.empty()) {
    add(program_path.parent_path().parent_path() / "lib" / "drift" / "plugins", "beside the program", false);
  }
  add(boost::dll::this_line_location().parent_path() / "drift" / "plugins", "installed", false);
  return paths;
}

void PluginLoader::load_folder(const SearchPath& search_path) {
  std::error_code failure;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(search_path.folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().extension() == ".so") files.push_back(entry->path());
  }
  if (failure && (search_path.must_exist || failure != std::errc::no_such_file_or_directory)) {
    refuse(search_path.folder, Error("cannot read the plugin folder " + search_path.folder.string() + " (" +
                                         search_path.origin + "): " + failure.message(),
                                     "create it, or correct the path"));
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    try {
      load_file(file, search_path.origin, /*shipped=*/!search_path.must_exist);
    } catch (const Error& error) {
      refuse(file, error);
    } catch (const std::exception& error) {  // the file system, say: a file that went away meanwhile
      refuse(file, Error("cannot load " + file.string() + ": " + error.what()));
    }
  }
}

void PluginLoader::load_file(const fs::path& file, const std::string& origin, bool shipped) {
  const DriftPluginDescriptor descriptor = read_descriptor(file);
  const fs::path path = fs::canonical(file);
  const auto is_this = [&](const LoadedPlugin& plugin) { return plugin.path == path; };
  if (std::any_of(loaded_.begin(), loaded_.end(), is_this)) return;

  if (const auto mismatches = judge(host_descriptor(), descriptor); !mismatches.empty())
    throw refusal(path, descriptor, mismatches);
  LoadedPlugin plugin;
  plugin.name = descriptor_text(descriptor.name);
  for (const LoadedPlugin& other : loaded_) {
    if (other.name != plugin.name) continue;
    throw Error("two plugins have the name `" + plugin.name + "`\n  --> " + path.string() + "  (refused)\n  --> " +
                    other.path.string() + "  (loaded first, from " + other.origin + ")",
                "remove one of the two files, or give one another name in its DRIFT_PLUGIN(…)");
  }
  plugin.version = descriptor_text(descriptor.version);
  plugin.licence = descriptor_text(descriptor.licence);
  plugin.tier = tier_text(descriptor.tier);
  plugin.path = path;
  plugin.origin = origin;
  plugin.sha256 = sha256_of_file(path);
  plugin.shipped = shipped;
  plugin.compiler = descriptor_text(descriptor.compiler);
  const std::string ours = descriptor_text(host_descriptor().compiler);
  if (descriptor.tier == DRIFT_TIER_TENSOR && plugin.compiler != ours) {
    plugin.warning = "built by " + plugin.compiler + ", this host by " + ours;
  }

  if (gate_ && !shipped) gate_(path);
  const DriftPluginEntry* entry = load(path, plugin.name);
  check_entry(entry, descriptor, path);
  register_components(plugin, [&] { call_registration(*entry, descriptor.tier, registry_); });
  loaded_.push_back(std::move(plugin));
}

void PluginLoader::register_components(const LoadedPlugin& plugin, const std::function<void()>& add) {
  const auto components = registry_.components_;
  const auto algorithms = registry_.algorithms_;
  if (plugin.shipped) {
    std::erase_if(registry_.components_, [&](const ComponentEntry& entry) { return !is_shipped(entry.plugin); });
    std::erase_if(registry_.algorithms_, [&](const Algorithm& algorithm) { return !is_shipped(algorithm.plugin); });
  }
  registry_.registering_plugin_ = plugin.name;
  try {
    const Callee registering{"plugin `" + plugin.name + "`"};
    const PluginCall call(registering, "registration");
    add();
  } catch (...) {
    const Error error = describe_exception();
    registry_.components_ = components;
    registry_.algorithms_ = algorithms;
    registry_.registering_plugin_.clear();
    throw Error("plugin `" + plugin.name + "` failed to register: " + error.what() + "\n  --> " + plugin.path.string(),
                error.hint().empty() ? "nothing of it was kept; report this to the plugin's author" : error.hint());
  }
  registry_.registering_plugin_.clear();
  if (plugin.shipped) put_back(plugin, components, algorithms);
}

const LoadedPlugin* PluginLoader::find(std::string_view name) const {
  const auto found = std::ranges::find(loaded_, name, &LoadedPlugin::name);
  return found == loaded_.end() ? nullptr : &*found;
}

bool PluginLoader::is_shipped(const std::string& plugin) const {
  const LoadedPlugin* found = find(plugin);
  return found != nullptr && found->shipped;
}

void PluginLoader::put_back(const LoadedPlugin& shipped, std::vector<ComponentEntry> components,
                            std::vector<Algorithm> algorithms) {
  const auto collides = [&](std::string_view kind, const std::string& name, const std::string& owner, bool exists) {
    if (!exists || is_shipped(owner)) return false;
    const LoadedPlugin* plugin = find(owner);
    const fs::path path = plugin == nullptr ? fs::path() : plugin->path;
    refuse(path, Error("the " + std::string(kind) + " `" + name + "` of plugin `" + owner +
                           "` is refused: the shipped plugin `" + shipped.name + "` has one of that name\n  --> " +
                           path.string(),
                       "give it another name"));
    return true;
  };
  std::erase_if(components, [&](const ComponentEntry& entry) {
    return collides(kind_name(entry.kind), entry.name, entry.plugin, registry_.find(entry.kind, entry.name) != nullptr);
  });
  std::erase_if(algorithms, [&](const Algorithm& algorithm) {
    return collides("algorithm", algorithm.name, algorithm.plugin, registry_.find_algorithm(algorithm.name) != nullptr);
  });
  for (ComponentEntry& entry : registry_.components_) {
    if (entry.plugin == shipped.name) components.push_back(std::move(entry));
  }
  for (Algorithm& algorithm : registry_.algorithms_) {
    if (algorithm.plugin == shipped.name) algorithms.push_back(std::move(algorithm));
  }
  registry_.components_ = std::move(components);
  registry_.algorithms_ = std::move(algorithms);
}

void PluginLoader::refuse(const fs::path& path, const Error& error) { refused_.push_back({path, full_message(error)}); }

}  // namespace drift
