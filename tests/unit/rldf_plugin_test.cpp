// What the plugin registers: components that can be made with their defaults and with every preset.

#include "tests/support/plugins.h"

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

/// The preset's settings of one section, as that component's parameters.
std::map<std::string, ParamValue> section(const BundlePreset& of, const std::string& prefix) {
  std::map<std::string, ParamValue> values;
  for (const BundleSetting& candidate : of.settings) {
    if (candidate.key.rfind(prefix, 0) == 0) values[candidate.key.substr(prefix.size())] = candidate.value;
  }
  return values;
}

TEST(RldfPlugin, EveryComponentCanBeMadeWithItsDefaults) {
  for (const char* name : {"rldf", "random_masking", "coupled_random_masking", "all_masking"}) {
    EXPECT_NE(test::create<MaskingStrategy>("rldf", name), nullptr) << name;
  }
  EXPECT_NE(test::create<LossEstimator>("rldf", "rldf"), nullptr);
}

TEST(RldfPlugin, EveryPresetFitsTheComponentsItIsFor) {
  std::vector<std::string> names;
  for (const BundlePreset& candidate : bundle().presets) {
    names.push_back(candidate.name);
    EXPECT_NO_THROW(test::create<MaskingStrategy>("rldf", bundle().masking, section(candidate, "algorithm.masking."))) << candidate.name;
    EXPECT_NO_THROW(test::create<LossEstimator>("rldf", bundle().loss, section(candidate, "algorithm.loss."))) << candidate.name;
  }
  EXPECT_THAT(names, ElementsAre("paper", "paper_dream", "drift_release", "drift_release_dream"));
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
