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

/// A setting that a bundle brings, for example {"advantage.std", "sample"}. The key is a key of the run's TOML, or
/// `note.` and such a key: a text on the value that the preset gives to it ("train.learning_rate = 3e-06 (preset …) was
/// " + text), said at the start of a run that takes this value over.
struct BundleSetting {
  std::string key;
  ParamValue value;
};

/// `settings` with `changes` in place of, or after, the settings of the same key: presets that differ in a few values.
DRIFT_API std::vector<BundleSetting> changed(std::vector<BundleSetting> settings,
                                             const std::vector<BundleSetting>& changes);

/// Settings under a name: `paper`, `class_defaults`, …
struct BundlePreset {
  std::string name;
  std::string doc;
  std::vector<BundleSetting> settings;
};

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
