#pragma once

// A folder with TOML files, for tests of what is read from them.

#include <core/config/document.h>

#include <drift/registry.h>

#include <tests/support/support.h>

namespace drift::test {

/// A component that is known by its name and parameters only.
inline void add(Registry& registry, ComponentKind kind, const std::string& name, std::vector<Parameter> params = {}) {
  registry.add(kind, name, "", std::move(params), {});
}

/// An algorithm of these parts.
inline void add_algorithm(Registry& registry, const std::string& name, const std::string& masking,
                          const std::string& loss, std::vector<AlgorithmPreset> presets = {}) {
  registry.add_algorithm({.name = name,
                          .doc = "",
                          .paper = "",
                          .masking = masking,
                          .loss = loss,
                          .presets = std::move(presets),
                          .plugin = name});
}

/// What `--set` makes of each.
inline std::vector<ConfigOverride> overrides_of(const std::vector<std::string>& sets) {
  std::vector<ConfigOverride> overrides;
  for (const std::string& set : sets) overrides.push_back(ConfigOverride::from_set(set));
  return overrides;
}

class ConfigFolder : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    write_file(folder_.path() / name, content);
    return folder_.path() / name;
  }

  /// A complete run of the model `toy` on the task `sums` with the rollout `blocks`, and its checkpoint.
  void write_run(const std::string& name, const std::string& algorithm) const {
    write("checkpoint/config.json", R"({"model_type": "toy"})");
    write(name,
          "[model]\npath = \"checkpoint\"\n[task]\nname = \"sums\"\n[rollout]\nname = \"blocks\"\n[algorithm]\nname = "
          "\"" +
              algorithm + "\"\n");
  }

  /// What the user sees of the mistakes that `action` throws, with the folder left out.
  template <class Action>
  std::string mistakes_in(const Action& action) const {
    try {
      action();
    } catch (const ConfigError& error) {
      std::string text = error.text(false);
      const std::string prefix = folder_.path().string() + "/";
      for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
      return text;
    }
    return "no mistake";
  }

  TemporaryFolder folder_;
};

}  // namespace drift::test
