// What the plugin registers: components that can be made with their defaults, and presets that the configuration takes.

#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/config/schema.h>
#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>

#include <gmock/gmock.h>

#include <cmath>

namespace drift {
namespace {

using testing::ElementsAre;

const Bundle& bundle() { return *test::load_plugin("rldf").find_bundle("rldf"); }

const BundlePreset& preset(const std::string& name) {
  for (const BundlePreset& candidate : bundle().presets) {
    if (candidate.name == name) return candidate;
  }
  throw std::runtime_error("no preset " + name);
}

template <class T>
T setting(const std::string& preset_name, const std::string& key) {
  for (const BundleSetting& candidate : preset(preset_name).settings) {
    if (candidate.key == key) return std::get<T>(candidate.value);
  }
  throw std::runtime_error("preset " + preset_name + " does not set " + key);
}

/// All that a section of the run's TOML may hold: the core's keys and its component's parameters.
ParamSpecs keys_of(const std::string& section) {
  static const std::map<std::string, std::pair<std::string, std::string>> components = {
      {"algorithm.masking", {"rldf", bundle().masking}},
      {"algorithm.loss", {"rldf", bundle().loss}},
      {"rollout", {"block", "block"}}};
  const SectionSchema* schema = find_section(section);
  if (schema == nullptr) throw std::runtime_error("there is no section " + section);
  ParamSpecs keys = schema->keys;
  if (const auto component = components.find(section); component != components.end()) {
    const auto& [plugin, name] = component->second;
    const auto& params = test::load_plugin(plugin).find(*schema->component, name)->params;
    keys.insert(keys.end(), params.begin(), params.end());
  }
  return keys;
}

TEST(RldfPlugin, EveryComponentCanBeMadeWithItsDefaults) {
  for (const char* name : {"rldf", "random_masking", "coupled_random_masking", "all_masking"}) {
    EXPECT_NE(test::create<MaskingStrategy>("rldf", name), nullptr) << name;
  }
  EXPECT_NE(test::create<LossEstimator>("rldf", "rldf"), nullptr);
}

TEST(RldfPlugin, EverySettingOfAPresetIsAKeyOfTheConfigurationWithAnAllowedValue) {
  std::vector<std::string> names;
  for (const BundlePreset& candidate : bundle().presets) {
    names.push_back(candidate.name);
    for (const BundleSetting& setting : candidate.settings) {
      const auto dot = setting.key.rfind('.');
      EXPECT_NO_THROW(Params(keys_of(setting.key.substr(0, dot)), {{setting.key.substr(dot + 1), setting.value}}))
          << candidate.name << ": " << setting.key;
    }
  }
  EXPECT_THAT(names, ElementsAre("paper", "paper_dream", "drift_release", "drift_release_dream"));
}

TEST(RldfPlugin, TheAlgorithmsPageNamesEveryOptionComponentAndPreset) {
  const std::string page = test::read_file(test::source_dir() / "docs/algorithms/rldf.md");
  const auto expect_named = [&](const std::string& name) {
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
  };
  for (const ComponentEntry& component : test::load_plugin("rldf").components()) {
    expect_named(component.name);
    for (const ParamSpec& param : component.params) expect_named(param.name);
  }
  for (const BundlePreset& candidate : bundle().presets) expect_named(candidate.name);
}

TEST(RldfPlugin, PresetsHoldTheValuesOfTheirSources) {
  EXPECT_EQ(setting<std::int64_t>("paper", "algorithm.masking.k"), 16);
  EXPECT_EQ(setting<double>("paper", "algorithm.loss.low_prob_threshold"), 0.2);
  EXPECT_EQ(setting<std::string>("paper", "algorithm.loss.norm"), "sample");
  EXPECT_EQ(setting<double>("paper", "algorithm.loss.beta"), 0.01);
  EXPECT_EQ(setting<double>("paper_dream", "algorithm.loss.beta"), 0.04);
  EXPECT_EQ(setting<std::int64_t>("drift_release", "algorithm.masking.k"), 4);
  EXPECT_EQ(setting<double>("drift_release", "algorithm.loss.low_prob_threshold"), 0.6);
  EXPECT_EQ(setting<std::string>("drift_release", "algorithm.loss.norm"), "token");
  EXPECT_EQ(setting<std::string>("drift_release_dream", "algorithm.loss.norm"), "sample");
  EXPECT_TRUE(std::isinf(setting<double>("drift_release_dream", "algorithm.masking.sample_temperature")));
  EXPECT_EQ(setting<double>("drift_release_dream", "algorithm.loss.beta"), 0.04);
}

}  // namespace
}  // namespace drift
