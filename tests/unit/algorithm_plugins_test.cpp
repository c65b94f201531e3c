// What every algorithm plugin that ships keeps: components that can be made with their defaults, presets that the
// configuration takes, and a page that names all of it.

#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/base/component_host.h>
#include <core/config/preset.h>

namespace drift::algorithm_plugins_test {

/// Plugins of the build tree that bring an algorithm.
std::vector<std::string> algorithm_plugins() {
  std::vector<std::string> names;
  for (const std::string& name : test::plugin_names()) {
    if (!test::load_plugin(name).algorithms().empty()) names.push_back(name);
  }
  return names;
}

TEST(AlgorithmPlugins, EveryComponentCanBeMadeWithItsDefaults) {
  EXPECT_THAT(algorithm_plugins(), testing::Not(testing::IsEmpty()));
  for (const std::string& plugin : algorithm_plugins()) {
    for (const ComponentEntry& component : test::load_plugin(plugin).components())
      EXPECT_NE(test::host().make(component, Parameters(component.params)), nullptr) << component.name;
  }
}

TEST(AlgorithmPlugins, EveryAlgorithmNamesComponentsThatShipAndHasAPreset) {
  for (const Algorithm& algorithm : test::all_plugins().algorithms()) {
    EXPECT_NE(test::all_plugins().find(ComponentKind::kMaskingStrategy, algorithm.masking), nullptr) << algorithm.name;
    EXPECT_NE(test::all_plugins().find(ComponentKind::kLossEstimator, algorithm.loss), nullptr) << algorithm.name;
    EXPECT_FALSE(algorithm.presets.empty()) << algorithm.name;
  }
}

/// A run that names all that presets set parameters of.
const std::vector<ConfigOverride> kRun = {{"", "model.name", "llada", true},
                                          {"", "task.name", "sudoku", true},
                                          {"", "reward.name", "sudoku", true},
                                          {"", "rollout.name", "block", true}};

TEST(AlgorithmPlugins, EverySettingOfAPresetIsAKeyOfTheConfigurationWithAnAllowedValue) {
  for (const Algorithm& algorithm : test::all_plugins().algorithms()) {
    for (const AlgorithmPreset& preset : algorithm.presets) {
      for (const Diagnostic& mistake : preset_mistakes(algorithm, preset, test::all_plugins(), kRun))
        ADD_FAILURE() << render(mistake, /*colour=*/false);
    }
  }
}

// The counterpart, without which the test above could not fail.
TEST(AlgorithmPlugins, AMisspeltSettingOfAPresetIsFound) {
  Algorithm algorithm = *test::all_plugins().find_algorithm("d1");
  for (const std::string line :
       {"train.stpes = 1", "trian.steps = 1", "rollout.tempreature = 1.0", "algorithm.loss.bta = 0.1",
        "algorithm.masking.k = 4", "reward.truncation = true", "train.steps = \"many\"", "train.group_size = 1",
        "notes.train.stepss = \"a text\"", "extends = \"trian\"", "algorithm.loss.name = \"d1\"", "[train"}) {
    const AlgorithmPreset preset{"mine", "mine.toml", "description = \"of the test\"\n" + line + "\n"};
    algorithm.presets = {preset};
    Registry registry;
    for (const ComponentEntry& entry : test::all_plugins().components()) {
      registry.add(entry.kind, entry.name, entry.doc, entry.params, entry.create);
    }
    registry.add_algorithm(algorithm);
    const auto mistakes = preset_mistakes(algorithm, preset, registry, kRun);
    ASSERT_EQ(mistakes.size(), 1u) << line;
    EXPECT_EQ(mistakes[0].span.line, 2u) << render(mistakes[0], false);
  }
}

TEST(AlgorithmPlugins, EveryFileOfAPresetIsOfItsAlgorithm) {
  std::set<std::string> files, registered;
  for (const auto& plugin : std::filesystem::directory_iterator(test::source_dir() / "plugins")) {
    if (!std::filesystem::exists(plugin.path() / "presets")) continue;
    for (const auto& file : std::filesystem::directory_iterator(plugin.path() / "presets"))
      files.insert(std::filesystem::relative(file.path(), test::source_dir()).string());
  }
  for (const Algorithm& algorithm : test::all_plugins().algorithms()) {
    for (const AlgorithmPreset& preset : algorithm.presets) registered.insert(preset.origin);
  }
  EXPECT_EQ(registered, files);
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
      for (const Parameter& param : component.params) expect_named(param.name);
    }
    for (const Algorithm& algorithm : test::load_plugin(plugin).algorithms()) {
      for (const AlgorithmPreset& preset : algorithm.presets) expect_named(preset.name);
    }
  }
}

}  // namespace drift::algorithm_plugins_test
