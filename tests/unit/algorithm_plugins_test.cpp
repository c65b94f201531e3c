// What every algorithm plugin that ships keeps: components that can be made with their defaults, presets that the
// configuration takes, and a page that names all of it.

#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/base/component_host.h>
#include <core/config/preset_notes.h>
#include <core/config/schema.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace drift {
namespace {

/// Plugins of the build tree that bring a bundle.
std::vector<std::string> algorithm_plugins() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(test::build_dir() / "lib/drift/plugins")) {
    const std::string name = file.path().stem().string().substr(3);  // libNAME.so
    if (!test::load_plugin(name).bundles().empty()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A component of any plugin: a bundle may use another algorithm's masking strategy or loss by its name.
const ComponentEntry* find(ComponentKind kind, const std::string& name) {
  for (const std::string& plugin : algorithm_plugins()) {
    if (const ComponentEntry* entry = test::load_plugin(plugin).find(kind, name)) return entry;
  }
  return nullptr;
}

/// All that a section of the run's TOML may hold: the core's keys and its component's parameters.
ParamSpecs keys_of(const std::string& section, const Bundle& bundle) {
  const SectionSchema* schema = find_section(section);
  if (schema == nullptr) throw std::runtime_error("there is no section " + section);
  ParamSpecs keys = schema->keys;
  const ComponentEntry* component = nullptr;
  if (section == "algorithm.masking") component = find(ComponentKind::kMaskingStrategy, bundle.masking);
  if (section == "algorithm.loss") component = find(ComponentKind::kLossEstimator, bundle.loss);
  if (section == "rollout") component = test::load_plugin("block").find(ComponentKind::kRollout, "block");
  if (component != nullptr) keys.insert(keys.end(), component->params.begin(), component->params.end());
  return keys;
}

/// Keys of presets that no component has yet: what the originals set, for the day on which a rollout takes them. The
/// program passes over such a key of a preset; a key that is not in this list is misspelt.
const std::map<std::string, std::string> kNotBuilt = {
    {"rollout.top_p", "0.95 in Dream's sampler of RLDF, ESPO and Coupled-GRPO, 0.9 in TraceRL's for Dream"},
    {"rollout.top_k", "50 in TraceRL's for Dream"},
};

bool has_setting(const BundlePreset& preset, const std::string& key) {
  return std::ranges::count(preset.settings, key, &BundleSetting::key) > 0;
}

TEST(AlgorithmPlugins, EveryComponentCanBeMadeWithItsDefaults) {
  EXPECT_THAT(algorithm_plugins(), testing::Not(testing::IsEmpty()));
  for (const std::string& plugin : algorithm_plugins()) {
    for (const ComponentEntry& component : test::load_plugin(plugin).components())
      EXPECT_NE(make_component(component, Params(component.params)), nullptr) << component.name;
  }
}

TEST(AlgorithmPlugins, EveryBundleNamesComponentsThatShipAndHasAPreset) {
  for (const std::string& plugin : algorithm_plugins()) {
    for (const Bundle& bundle : test::load_plugin(plugin).bundles()) {
      EXPECT_NE(find(ComponentKind::kMaskingStrategy, bundle.masking), nullptr) << plugin;
      EXPECT_NE(find(ComponentKind::kLossEstimator, bundle.loss), nullptr) << plugin;
      EXPECT_FALSE(bundle.presets.empty()) << plugin;
    }
  }
}

TEST(AlgorithmPlugins, EverySettingOfAPresetIsAKeyOfTheConfigurationWithAnAllowedValue) {
  std::set<std::string> seen;
  for (const std::string& plugin : algorithm_plugins()) {
    for (const Bundle& bundle : test::load_plugin(plugin).bundles()) {
      for (const BundlePreset& preset : bundle.presets) {
        for (const BundleSetting& setting : preset.settings) {
          if (is_note(setting.key)) {
            EXPECT_TRUE(has_setting(preset, setting.key.substr(kNotePrefix.size()))) << plugin << ": " << setting.key;
            continue;
          }
          if (kNotBuilt.contains(setting.key)) {
            seen.insert(setting.key);
            continue;
          }
          const auto dot = setting.key.rfind('.');
          const std::string section = setting.key.substr(0, dot), name = setting.key.substr(dot + 1);
          const ParamSpecs keys = keys_of(section, bundle);
          EXPECT_NO_THROW(Params(keys, {{name, setting.value}}))
              << plugin << ", preset " << preset.name << ": " << setting.key;
        }
      }
    }
  }
  const ParamSpecs& built = test::load_plugin("block").find(ComponentKind::kRollout, "block")->params;
  for (const auto& [key, originals] : kNotBuilt) {
    EXPECT_TRUE(seen.contains(key)) << key << " is in no preset: strike it off the list";
    EXPECT_FALSE(std::ranges::count(built, key.substr(std::string("rollout.").size()), &ParamSpec::name))
        << key << " is built by now (" << originals << "): strike it off the list";
  }
}

TEST(AlgorithmPlugins, TheAlgorithmsPageNamesEveryOptionComponentAndPreset) {
  const std::string pages = test::read_file(test::source_dir() / "docs/README.md");
  for (const std::string& plugin : algorithm_plugins()) {
    SCOPED_TRACE(plugin);
    const std::string name = "algorithms/" + plugin + ".md";
    EXPECT_NE(pages.find(name), std::string::npos) << "docs/README.md does not list it";
    const std::string page = test::read_file(test::source_dir() / "docs" / name);
    const auto expect_named = [&](const std::string& word) {
      EXPECT_NE(page.find("`" + word + "`"), std::string::npos) << word;
    };
    for (const ComponentEntry& component : test::load_plugin(plugin).components()) {
      expect_named(component.name);
      for (const ParamSpec& param : component.params) expect_named(param.name);
    }
    for (const Bundle& bundle : test::load_plugin(plugin).bundles()) {
      for (const BundlePreset& preset : bundle.presets) expect_named(preset.name);
    }
  }
}

}  // namespace
}  // namespace drift
