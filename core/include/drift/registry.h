#pragma once

#include <drift/component.h>
#include <drift/export.h>
#include <drift/model.h>
#include <drift/params.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace drift {

/// Creates a component. `model_config` is null for every kind but kModel.
using ComponentFactory = std::unique_ptr<Component> (*)(const Params& params, const ModelConfig* model_config);

/// One registered component.
struct ComponentEntry {
  ComponentKind kind{};
  std::string name;
  std::string doc;  ///< one sentence
  ParamSpecs params;
  ComponentFactory create = nullptr;
  std::string plugin;  ///< name of the plugin that registered it
};

/// Settings of an algorithm under a name (`paper`, `class_defaults`, …), as the plugin carries them: a TOML file,
/// unread. The program reads it where a run chooses the preset; docs/plugin_abi.md says what it holds.
struct BundlePreset {
  std::string name;
  std::string origin;  ///< the file that the text comes from, for messages: "plugins/my_method/presets/paper.toml"
  std::string text;
};

/// The presets that drift_add_plugin() compiled into this plugin: every presets/NAME.toml beside its CMakeLists.txt.
/// Defined in the plugin, not in libdrift. @param first  the bundle's default; the others follow in the order of their
/// names. @throws Error if there is no such file.
std::vector<BundlePreset> plugin_presets(std::string_view first);

/// An algorithm: its masking strategy, its loss and the settings its paper uses. Each part can still be swapped by
/// name.
struct Bundle {
  std::string name;
  std::string doc;
  std::string paper;
  std::string masking;                ///< name of a masking strategy
  std::string loss;                   ///< name of a loss estimator
  std::vector<BundlePreset> presets;  ///< the first one is the default
  std::string plugin;
};

/// What is registered. A plugin sees it once, while it registers.
class DRIFT_API Registry {
 public:
  /// @throws Error if a component of this kind and name exists.
  void add(ComponentEntry entry);
  void add_bundle(Bundle bundle);

  /// Register class T under a name.
  template <class T>
  void add(std::string_view name, std::string_view doc, ParamSpecs params = {}) {
    ComponentEntry entry;
    entry.kind = T::kKind;
    entry.name = name;
    entry.doc = doc;
    entry.params = std::move(params);
    entry.create = [](const Params& values, [[maybe_unused]] const ModelConfig* config) -> std::unique_ptr<Component> {
      if constexpr (T::kKind == ComponentKind::kModel) {
        return std::make_unique<T>(*config, values);
      } else {
        return std::make_unique<T>(values);
      }
    };
    add(std::move(entry));
  }

  const std::vector<ComponentEntry>& components() const { return components_; }
  const std::vector<Bundle>& bundles() const { return bundles_; }

  /// Null if there is none.
  const ComponentEntry* find(ComponentKind kind, std::string_view name) const;
  const Bundle* find_bundle(std::string_view name) const;

 private:
  friend class PluginLoader;
  std::vector<ComponentEntry> components_;
  std::vector<Bundle> bundles_;
  std::string registering_plugin_;
};

/// "model", "rollout", "masking strategy", "loss", "reward" or "task".
DRIFT_API std::string_view kind_name(ComponentKind kind);

}  // namespace drift
