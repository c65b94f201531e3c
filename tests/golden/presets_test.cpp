// Presets hold what follows from the originals' own configuration files, key by key: tests/golden/presets.

#include "tests/golden/preset_derivation.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/config/preset.h>

namespace drift::presets_test {

namespace fs = std::filesystem;
using namespace testing;

const fs::path kFixtures = test::source_dir() / "tests/golden/presets";

struct Checked {
  std::string algorithm, name;
  test::Settings settings;
};

std::vector<Checked> all_presets() {
  std::vector<Checked> all;
  for (const char* plugin : {"rldf", "d1", "espo", "tracerl", "coupled_grpo", "wd1", "spg", "d2", "agrpo", "gdpo",
                             "mdpo", "bgpo", "dipo", "ebpo", "cj_grpo"}) {
    for (const Algorithm& algorithm : test::load_plugin(plugin).algorithms()) {
      for (const AlgorithmPreset& file : algorithm.presets) {
        const Preset preset = read_preset(algorithm, file);
        all.push_back({algorithm.name, preset.name, {}});
        for (const auto& [key, leaf] : preset.layer.leaves) all.back().settings[key] = leaf.value.value();
        for (const auto& [key, text] : preset.notes) all.back().settings["note." + key] = text;
      }
    }
  }
  return all;
}

fs::path fixture_of(const Checked& preset) { return kFixtures / preset.algorithm / (preset.name + ".toml"); }

/// A preset made from another one may keep values that its own schedule and reference do not read.
void drop_what_has_no_effect(test::Settings& settings) {
  const auto is = [&](const std::string& key, const char* value) {
    const auto found = settings.find(key);
    return found != settings.end() && found->second == Parameter::Value(value);
  };
  if (is("train.schedule", "constant")) settings.erase("train.final_fraction");
  if (!is("reference.policy", "ema")) {
    settings.erase("reference.sync_steps");
    settings.erase("reference.mix");
  }
}

/// "train.group_size = 6", and of a note that it is there.
std::vector<std::string> lines(test::Settings settings) {
  drop_what_has_no_effect(settings);
  std::vector<std::string> out;
  for (const auto& [key, value] : settings)
    out.push_back(key.starts_with("note.") ? key : key + " = " + to_toml(value));
  return out;
}

TEST(Presets, HoldWhatFollowsFromTheOriginalsFiles) {
  for (const Checked& preset : all_presets()) {
    SCOPED_TRACE(preset.algorithm + "/" + preset.name);
    if (!fs::exists(fixture_of(preset))) continue;  // the next test says so
    const test::Original original(fixture_of(preset));
    EXPECT_THAT(lines(preset.settings), testing::ElementsAreArray(lines(derived_settings(preset.algorithm, original))));
    EXPECT_THAT(original.unread(), IsEmpty()) << "keys of the fixture that no rule knows";
    EXPECT_THAT(original.source(), testing::Not(IsEmpty()));
    EXPECT_GT(original.devices(), 0);
  }
}

TEST(Presets, HaveAFixtureEachAndEveryFixtureHasItsPreset) {
  std::set<fs::path> expected, found;
  for (const Checked& preset : all_presets()) expected.insert(fixture_of(preset));
  for (const auto& file : fs::recursive_directory_iterator(kFixtures)) {
    const auto folder = file.path().parent_path().filename();  // supervised: supervised_presets_test.cpp
    if (file.is_regular_file() && folder != "bases" && folder != "supervised") found.insert(file.path());
  }
  EXPECT_EQ(found, expected);
}

TEST(Presets, ANoteOnALearningRateSpeaksOfAdapters) {
  int notes = 0;
  for (const Checked& preset : all_presets()) {
    const auto note = preset.settings.find("note.train.learning_rate");
    if (note == preset.settings.end()) continue;
    ++notes;
    EXPECT_THAT(std::get<std::string>(note->second), HasSubstr("adapters")) << preset.algorithm << "/" << preset.name;
  }
  EXPECT_EQ(notes, 6 + 7 + 5 + 8 + 4 + 2 + 2) << "d1, ESPO, wd1, SPG, d2, AGRPO, GDPO";
}

// The rules themselves, on numbers that were counted by hand.
TEST(Presets, BatchesAreCountedOverDevices) {
  const auto derived = [](const std::string& algorithm, const std::string& preset, const std::string& key) {
    const test::Original original(kFixtures / algorithm / (preset + ".toml"));
    return std::get<std::int64_t>(derived_settings(algorithm, original).at(key));
  };
  EXPECT_EQ(derived("d1", "train", "train.prompts_per_step"), 16);
  EXPECT_EQ(derived("d2", "gsm8k", "train.prompts_per_step"), 16);
  EXPECT_EQ(derived("d2", "math", "train.prompts_per_step"), 16);
  EXPECT_EQ(derived("agrpo", "gsm8k", "train.prompts_per_step"), 16);
  EXPECT_EQ(derived("mdpo", "demo", "train.prompts_per_step"), 64);
  EXPECT_EQ(derived("wd1", "gsm8k", "train.prompts_per_step"), 8);
  EXPECT_EQ(derived("spg", "sudoku", "train.prompts_per_step"), 16);
  EXPECT_EQ(derived("spg", "sudoku", "algorithm.loss.micro_batch"), 3);
  EXPECT_EQ(derived("tracerl", "rl_llada", "train.views_per_update"), 256);
  EXPECT_EQ(derived("tracerl", "rl_dream", "train.views_per_update"), 2048);
  EXPECT_EQ(derived("tracerl", "multinode_rl_llada", "train.views_per_update"), 2048);
  EXPECT_EQ(derived("tracerl", "multinode_rl_dream", "train.views_per_update"), 2048);
  EXPECT_EQ(derived("tracerl", "rl_sdar", "train.views_per_update"), 256);
  EXPECT_EQ(derived("tracerl", "multinode_rl_sdar", "train.views_per_update"), 256);
  EXPECT_EQ(derived("tracerl", "rl_trado_with_value", "train.views_per_update"), 128);
  EXPECT_EQ(derived("rldf", "rldf_release_8_devices", "train.prompts_per_step"), 64);
  EXPECT_EQ(derived("rldf", "rldf_release_8_devices", "filter.max_groups"), 32);
}

}  // namespace drift::presets_test
