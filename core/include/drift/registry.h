#pragma once

// A plugin registers its components once, when it is loaded (plugin.h):
//
//     DRIFT_PLUGIN("soft_clip", "1.0.0", "Apache-2.0") {
//       registry.add<SoftClip>("soft_clip", "PPO with a smooth clip.");
//       for (const Script& script : scripts) {  // names found at run time
//         registry.add(drift::ComponentKind::kReward, script.name, script.doc, script.params,
//                      [script](const drift::ComponentContext& context) { return script.open(context); });
//       }
//       // A script that the run names: its parameters are known once `file` is.
//       registry.add(drift::ComponentKind::kReward, "script", "A reward from a script.",
//                    {drift::path("file", "", "the script")}, open_script, read_declaration);
//     }

#include <drift/component.h>
#include <drift/export.h>
#include <drift/host.h>
#include <drift/params.h>
#include <drift/reserved.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace drift {

struct ModelConfig;

/// What a component is created from. Valid during the call; `host` outlives the component.
struct ComponentContext {
  const Parameters* params = nullptr;         ///< every declared parameter
  Host* host = nullptr;                       ///< never null
  const ModelConfig* model_config = nullptr;  ///< null for every kind but kModel
  Reserved<const void*, 5> reserved_pointers = {};
};

/// Creates a component. A closure, so that names found at run time (for example, files of a script language) can be
/// registered, each with its data.
using ComponentFactory = std::function<std::unique_ptr<Component>(const ComponentContext&)>;

/// What a component declares once the values of its registered parameters are known. Created by the plugin.
struct ComponentDeclaration {
  std::string doc;                ///< one sentence, instead of the registered one; empty: that one
  std::vector<Parameter> params;  ///< further parameters, with other names than the registered ones
  Reserved<std::string, 4> reserved_texts = {};
};

/// Reads the declaration that the values of the registered parameters lead to. Called while a configuration is checked
/// and where parameters are printed, before any component is created, possibly several times.
/// @throws Error, if the values lead to none: a file that is missing or has a mistake
using ReadDeclaration = std::function<ComponentDeclaration(const Parameters&)>;

/// One registered component. Created by the host.
struct ComponentEntry {
  ComponentKind kind{};
  std::string name;
  std::string doc;  ///< one sentence
  std::vector<Parameter> params;
  ComponentFactory create;
  std::string plugin;           ///< name of the plugin that registered it
  ReadDeclaration declaration;  ///< empty: `params` are all
};

/// Settings of an algorithm under a name (`paper`, `class_defaults`, …), as the text of a TOML file. The program parses
/// it if a run chooses the preset; docs/plugin_abi.md describes its contents.
struct AlgorithmPreset {
  std::string name;
  std::string origin;  ///< the file of the text, for messages: "plugins/my_method/presets/paper.toml"
  std::string text;
  Reserved<std::string, 2> reserved_texts = {};
};

/// The presets that drift_add_plugin() compiled into this plugin: every presets/NAME.toml next to its CMakeLists.txt.
/// Defined in the plugin, not in libdrift. @param first the algorithm's default; the others follow in the order of
/// their names. @throws Error if there is no such file.
std::vector<AlgorithmPreset> plugin_presets(std::string_view first);

/// An algorithm: its masking strategy, its loss and the settings of its paper. A run can still replace each part by
/// name.
struct Algorithm {
  std::string name;
  std::string doc;
  std::string paper;
  std::string masking;                   ///< name of a masking strategy
  std::string loss;                      ///< name of a loss estimator
  std::vector<AlgorithmPreset> presets;  ///< the first one is the default
  std::string plugin;
  Reserved<std::string, 4> reserved_texts = {};
};

/// All registered components. A plugin sees it while it registers; created by the host.
class DRIFT_API Registry {
 public:
  /// @param doc  one sentence
  /// @throws Error if a component of this kind and name exists.
  void add(ComponentKind kind, std::string_view name, std::string_view doc, std::vector<Parameter> params,
           ComponentFactory create);
  /// The same for a component that has further parameters. `create` gets all of them.
  void add(ComponentKind kind, std::string_view name, std::string_view doc, std::vector<Parameter> params,
           ComponentFactory create, ReadDeclaration declaration);
  void add_algorithm(Algorithm algorithm);

  /// Register class T under a name. T's constructor takes (Parameters&), which also declares the parameters, or (const
  /// Parameters&), or for a model (const ModelConfig&, const Parameters&); and an optional Host& as the last argument.
  template <class T>
  void add(std::string_view name, std::string_view doc, std::vector<Parameter> params = {}) {
    if constexpr (declares<T>()) {
      Parameters collecting = Parameters::collecting(params);
      make<T>(declaration_host(), collecting);
    }
    add(T::kKind, name, doc, std::move(params), [](const ComponentContext& context) -> std::unique_ptr<Component> {
      if constexpr (T::kKind == ComponentKind::kModel) {
        return make<T>(*context.host, *context.model_config, *context.params);
      } else if constexpr (declares<T>()) {
        Parameters values = *context.params;
        return make<T>(*context.host, values);
      } else {
        return make<T>(*context.host, *context.params);
      }
    });
  }

  const std::vector<ComponentEntry>& components() const;
  const std::vector<Algorithm>& algorithms() const;

  /// Null if there is none.
  const ComponentEntry* find(ComponentKind kind, std::string_view name) const;
  const Algorithm* find_algorithm(std::string_view name) const;

 private:
  /// Whether T's constructor changes its Parameters, which it does by declaring one.
  template <class T>
  static constexpr bool declares() {
    return takes<T, Parameters&> && !takes<T, const Parameters&>;
  }
  template <class T, class Argument>
  static constexpr bool takes = std::is_constructible_v<T, Argument> || std::is_constructible_v<T, Argument, Host&>;

  template <class T, class... Arguments>
  static std::unique_ptr<Component> make(Host& host, Arguments&... arguments) {
    if constexpr (std::is_constructible_v<T, Arguments&..., Host&>) {
      return std::make_unique<T>(arguments..., host);
    } else {
      return std::make_unique<T>(arguments...);
    }
  }

  /// For objects created to collect declarations: logs nothing, counts nothing.
  static Host& declaration_host();

  friend class PluginLoader;
  std::vector<ComponentEntry> components_;
  std::vector<Algorithm> algorithms_;
  std::string registering_plugin_;
};

/// "model", "rollout", "masking strategy", "loss", "reward" or "task".
DRIFT_API std::string_view kind_name(ComponentKind kind);

}  // namespace drift
