#include <core/base/child_process.h>
#include <core/base/limits.h>
#include <core/base/quote.h>
#include <core/boundary/adapters.h>
#include <core/cli/load_run.h>
#include <core/config/schema.h>
#include <core/io/adapter_files.h>
#include <core/io/file_error.h>
#include <core/lab/conformance/report.h>
#include <core/ranks/launch.h>
#include <core/sweep/launcher.h>

#include <drift/error.h>

#include <dlfcn.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <variant>

namespace drift {
namespace {

struct ShortForm {
  std::string value;
  std::string key;
  bool is_text;
};

const std::map<std::string, ShortForm> kShortForms = {
    {"algorithm", {"NAME", "algorithm.name", true}},
    {"model", {"FOLDER|NAME", "model.path", true}},
    {"adapter", {"DIR", "adapter.path", true}},
    {"task", {"NAME", "task.name", true}},
    {"seed", {"N", "run.seed", false}},
    {"dtype", {"float32|bfloat16", "model.dtype", true}},
    {"device", {"cpu|cuda", "run.device", true}},
};

void add_short_form(OptionList& list, ConfigOptions& options, const std::string& name, const ShortForm& form) {
  std::string doc = "short for --set " + form.key + "=…";
  if (name == "model") doc += "; a word that is not a folder sets model.name";
  Option& option = list.add_custom(name, form.value, doc, [&options, name, form](const std::string& value) {
    std::error_code ignored;
    const bool family = name == "model" && value.find('/') == value.npos && !fs::is_directory(value, ignored);
    options.overrides.push_back({"--" + name + " " + value, family ? "model.name" : form.key, value, form.is_text});
  });
  option.is_setting = true;
  option.key = form.key;
  if (name == "model") option.candidates = "model.name";
}

/// The run's own file must find what DRIFT_PLUGIN_PATH has now.
void add_environment_plugins(ConfigDocument& document) {
  const auto folders = environment_plugin_folders();
  if (folders.empty()) return;
  std::vector<std::string> paths;
  std::set<std::string> known;
  const auto add = [&](const fs::path& path) {
    const std::string text = fs::absolute(path).lexically_normal().string();
    if (known.insert(text).second) paths.push_back(text);
  };
  std::ranges::for_each(plugin_paths(document), add);
  std::ranges::for_each(folders, add);
  ConfigLeaf leaf;
  leaf.value = std::move(paths);
  leaf.origin = {Origin::Kind::kDerived, "with DRIFT_PLUGIN_PATH", {}, {}};
  document.layers.emplace_back().leaves["plugins.paths"] = std::move(leaf);
}

}  // namespace

void add_short_form(OptionList& list, ConfigOptions& options, const std::string& name, const std::string& key) {
  add_short_form(list, options, name, ShortForm{"N", key, false});
}

void add_settings(OptionList& list, ConfigOptions& options, const std::vector<std::string>& short_forms) {
  Option& set = list.add_custom(
      "set", "KEY=VALUE", "change any value: run.seed=3; repeatable, the last one wins",
      [&options](const std::string& text) { options.overrides.push_back(ConfigOverride::from_set(text)); });
  set.repeatable = set.is_setting = true;
  for (const std::string& name : short_forms) add_short_form(list, options, name, kShortForms.at(name));
}

void add_config(OptionList& list, ConfigOptions& options, const std::vector<std::string>& short_forms) {
  list.add("config", "FILE", "a run's TOML file", options.file);
  add_settings(list, options, short_forms);
}

void add_checkpoint(OptionList& list, CheckpointOptions& options, const std::vector<std::string>& short_forms) {
  list.argument("CHECKPOINT_DIR", options.folder);
  add_config(list, options.config, short_forms);
}

ConfigOptions CheckpointOptions::run(const std::string& needed) const {
  std::error_code ignored;
  if (!is_there(folder) || !fs::is_directory(folder, ignored)) {
    throw Error("there is no checkpoint folder " + folder.string(),
                "it holds config.json, safetensors and a tokenizer: docs/models.md says where to find one");
  }
  if (const fs::path last = folder / "checkpoints" / "last";
      !is_there(folder / "config.json") && fs::is_directory(last, ignored)) {
    throw Error(folder.string() + " is the folder of a run, not a checkpoint",
                "give one of its checkpoints: " + last.string());
  }
  ConfigOptions run = config;
  // A run's checkpoints are RUN/checkpoints/NAME, and its resolved configuration is RUN/config.toml.
  const fs::path own = (folder / ".." / ".." / "config.toml").lexically_normal();
  if (run.file.empty() && fs::is_regular_file(own, ignored)) run.file = own;
  const auto names_it = [&](const ConfigOverride& setting) { return setting.key == needed; };
  if (!needed.empty() && run.file.empty() && std::ranges::none_of(run.overrides, names_it)) {
    const bool decodes = section_of(needed) == "rollout";
    throw Error(
        folder.string() + " is not from a run: say " +
            (decodes ? "how to decode, e.g. --set rollout.name=block --set rollout.length=64" : "what to evaluate"),
        "name a run's file: --config configs/quickstart.toml");
  }
  // The adapter that a run began with is not that of its checkpoints; --adapter is stronger.
  const bool adapter = holds_adapter(folder);
  run.overrides.insert(run.overrides.begin(),
                       {folder.string(), "adapter.path", adapter ? folder.string() : "", /*literal=*/true});
  if (!adapter) {
    run.overrides.push_back({folder.string(), "model.path", folder.string(), /*literal=*/true});
    run.overrides.push_back({folder.string(), "model.initialize", "checkpoint", /*literal=*/true});
    return run;
  }
  if (const std::string base = read_adapter(folder).base; fs::is_directory(base, ignored)) {
    run.overrides.push_back({folder.string(), "model.path", base, /*literal=*/true});
  } else if (run.file.empty()) {
    throw Error("the adapter in " + folder.string() +
                    (base.empty() ? " does not say which checkpoint it belongs to"
                                  : " belongs to a checkpoint that is not here: " + base),
                "name the checkpoint, and the adapter with --adapter " + folder.string());
  }
  return run;
}

void add_launcher(OptionList& list, std::string& launcher) {
  const std::string doc = "where: local, processes of this machine; slurm, tasks of a cluster; default: " + launcher;
  list.add("launcher", "NAME", doc, launcher).choices = {kLocalLauncher, kSlurmLauncher};
}

fs::path program_path() {
  Dl_info own{};
  ::dladdr(reinterpret_cast<const void*>(&program_path), &own);
  return fs::weakly_canonical(own.dli_fname).parent_path().parent_path() / "bin" / "drift";
}

std::unique_ptr<Plugins> load_plugins(const std::vector<fs::path>& configured_paths, ForeignFiles foreign) {
  // Python may ask in several threads at once, and a plugin's registration need not expect that.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  auto plugins = std::make_unique<Plugins>();
  if (foreign == ForeignFiles::kTriedFirst)
    plugins->loader.set_gate([](const fs::path& file) { try_loading(file, program_path()); });
  std::vector<fs::path> folders;
  for (const fs::path& path : configured_paths) {
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) {
      plugins->loader.load_file(path, "[plugins] paths");
    } else {
      folders.push_back(path);
    }
  }
  for (const SearchPath& folder : plugin_search_paths(folders, program_path())) plugins->loader.load_folder(folder);
  return plugins;
}

std::unique_ptr<Plugins> load_plugins(const ConfigOptions& options, ForeignFiles foreign) {
  return load_plugins(plugin_paths(load_document(options.file, options.overrides)), foreign);
}

std::unique_ptr<Plugins> load_plugins_for(const std::vector<ConfigDocument>& documents) {
  std::vector<fs::path> paths;
  std::set<fs::path> known;
  for (const ConfigDocument& document : documents) {
    for (const fs::path& path : plugin_paths(document)) {
      if (known.insert(path).second) paths.push_back(path);
    }
  }
  auto plugins = load_plugins(paths);
  // A plugin that did not load may be why a name is unknown: say it before the mistakes.
  for (const std::string& warning : refusals(plugins->loader)) std::cerr << "warning: " << warning << "\n\n";
  return plugins;
}

const ComponentEntry& known_component(const Registry& registry, ComponentKind kind, const std::string& name,
                                      const std::string& plural) {
  std::vector<std::string> names;
  for (const ComponentEntry& entry : registry.components()) {
    if (entry.kind == kind) names.push_back(entry.name);
  }
  require_known("no plugin provides a " + std::string(kind_name(kind)), name, names, plural);
  return *registry.find(kind, name);
}

std::vector<std::string> refusals(const PluginLoader& loader) {
  const auto& refused = loader.refused();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(refused.size(), kMostMistakes); ++i)
    texts.push_back(printable(refused[i].message));
  if (refused.size() > kMostMistakes)
    texts.push_back(std::to_string(refused.size() - kMostMistakes) + " more plugins cannot be used");
  return texts;
}

std::string with_installed_names(std::string text) {
  if (text.find("ALGORITHM") == text.npos && text.find("MODEL") == text.npos) return text;
  const auto plugins = load_plugins();
  const Registry& registry = plugins->registry;
  if (!registry.algorithms().empty()) text = replaced(std::move(text), "ALGORITHM", registry.algorithms().front().name);
  for (const ComponentEntry& entry : registry.components()) {
    if (entry.kind == ComponentKind::kModel && !entry.declaration)
      text = replaced(std::move(text), "MODEL", entry.name);
  }
  return text;
}

LoadedRun load_run(const ConfigOptions& options, ConfigPurpose purpose) {
  ConfigDocument document = load_document(options.file, options.overrides);
  add_environment_plugins(document);
  LoadedRun run;
  run.plugins = load_plugins_for({document});
  run.config = resolve_config(document, run.plugins->registry, purpose);
  run.run_host = std::make_unique<RunHost>(run.registry(), run.config.has("run") ? run.seed() : 0);
  if (has_adapter(run.config) && launched_rank() <= 0) {
    const std::string adapter = run.config.get<AdapterSettings>().path;
    const std::string other =
        !adapter.empty() && holds_adapter(adapter) ? trained_elsewhere(adapter, run.model_folder()) : std::string();
    if (!other.empty()) std::cerr << "warning: " << printable(other) << "\n";
  }
  return run;
}

LoadedSweep load_sweep(const ConfigOptions& options) {
  SweepFile file = read_sweep_file(options.file, options.overrides);
  std::vector<GridCell> cells = expand_grid(file);
  std::vector<ConfigDocument> documents = cell_documents(file, cells);
  LoadedSweep sweep;
  sweep.plugins = load_plugins_for(documents);
  sweep.plan = plan_sweep(std::move(file), std::move(cells), documents, [&](const ConfigDocument& document) {
    return resolve_config(document, sweep.plugins->registry, ConfigPurpose::kTrain);
  });
  return sweep;
}

std::filesystem::path default_sweep_folder(const SweepPlan& plan) {
  return std::filesystem::path("runs") / plan.file.name;
}

std::optional<Parameter::Value> recorded_value(const std::filesystem::path& config, const std::string& key) {
  if (!std::filesystem::exists(config)) return std::nullopt;
  for (const ConfigLayer& layer : load_document(config, {}).layers) {
    if (const auto leaf = layer.leaves.find(key); leaf != layer.leaves.end()) return leaf->second.value;
  }
  return std::nullopt;
}

WatchedSettings recorded_settings(const std::filesystem::path& config) {
  WatchedSettings settings;
  std::map<std::string, Parameter::Value> alarms;
  if (std::filesystem::exists(config)) {
    for (const ConfigLayer& layer : load_document(config, {}).layers) {
      for (const auto& [key, leaf] : layer.leaves) {
        if (!leaf.value) continue;
        if (section_of(key) == "alarms") alarms[std::string(name_of(key))] = *leaf.value;
        // A run has one of them.
        if (key == "train.steps" || key == "pretrain.steps") settings.steps = std::get<std::int64_t>(*leaf.value);
      }
    }
  }
  settings.limits = settings_from<AlarmLimits>(Parameters(declared_keys<AlarmLimits>(), alarms));
  return settings;
}

}  // namespace drift
