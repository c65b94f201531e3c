// How a preset's file is read: what it extends, what it marks, and what is wrong with it.

#include <core/config/preset.h>

#include <gmock/gmock.h>

namespace drift::preset_test {

using namespace testing;

/// An algorithm whose presets are the given texts, called a, b, c, …
Algorithm algorithm_of(const std::vector<std::string>& texts) {
  Algorithm algorithm;
  algorithm.name = "method";
  for (const std::string& text : texts) {
    const std::string name(1, static_cast<char>('a' + algorithm.presets.size()));
    algorithm.presets.push_back({name, "presets/" + name + ".toml", text});
  }
  return algorithm;
}

/// The last of these presets.
Preset read(const std::vector<std::string>& texts) {
  const Algorithm algorithm = algorithm_of(texts);
  return read_preset(algorithm, algorithm.presets.back());
}

std::string mistakes(const std::vector<std::string>& texts) {
  try {
    read(texts);
  } catch (const ConfigError& error) {
    return error.text(/*colour=*/false);
  }
  return "no mistake";
}

const std::string kBase = R"(description = "the first"
[train]
steps = 3
group_size = 4
[optional]
rollout.top_p = 0.5
[notes]
train.steps = "few"
train.group_size = "small"
)";

TEST(Preset, GoesOverTheOneItExtends) {
  const Preset preset = read({kBase, "description = \"the second\"\nextends = \"a\"\n[train]\nsteps = 5\n"});
  EXPECT_EQ(preset.description, "the second");
  EXPECT_THAT(preset.layer.leaves, ElementsAre(Key("rollout.top_p"), Key("train.group_size"), Key("train.steps")));
  EXPECT_EQ(preset.layer.leaves.at("train.steps").value, Parameter::Value(5));
  EXPECT_THAT(preset.optional, ElementsAre("rollout.top_p"));
  EXPECT_THAT(preset.notes, ElementsAre(Pair("train.group_size", "small"))) << "the other was on another value";
}

TEST(Preset, AnOptionalSettingThatIsSetInItsSectionIsNoLongerOptional) {
  EXPECT_TRUE(read({kBase, "description = \"b\"\nextends = \"a\"\n[rollout]\ntop_p = 0.9\n"}).optional.empty());
}

TEST(Preset, ValuesKnowThePresetAndTheirPlace) {
  const Preset preset = read({kBase, "description = \"b\"\nextends = \"a\"\n"});
  const Origin& origin = preset.layer.leaves.at("train.steps").origin;
  EXPECT_EQ(origin.text(), "preset b of method");
  EXPECT_EQ(origin.preset_file, "presets/a.toml");
  EXPECT_EQ(origin.key.line, 3u);
}

TEST(Preset, MistakesNameFileAndLine) {
  EXPECT_THAT(mistakes({"description = \"a\"\n[train\n"}), HasSubstr("--> presets/a.toml:2:"));
  EXPECT_THAT(mistakes({"[train]\nsteps = 3\n"}),
              AllOf(HasSubstr("a preset needs a description"), HasSubstr("--> presets/a.toml:1:1")));
  EXPECT_THAT(mistakes({kBase, "description = \"b\"\nextends = \"aa\"\n"}),
              AllOf(HasSubstr("`extends` names `aa`, which is not a preset of `method`\n  --> presets/b.toml:2:11"),
                    HasSubstr("did you mean `a`?"), HasSubstr("presets of `method`: a, b")));
  EXPECT_THAT(mistakes({"description = \"a\"\nextends = \"b\"\n", "description = \"b\"\nextends = \"a\"\n"}),
              AllOf(HasSubstr("preset `b` extends itself"), HasSubstr("--> presets/a.toml:2:11")));
  EXPECT_THAT(mistakes({"description = \"a\"\noptional = 3\nnotes.train.steps = 3\n"}),
              AllOf(HasSubstr("`optional` is a section of a preset, not a value"),
                    HasSubstr("the note on `train.steps` must be a text in quotes")));
  EXPECT_THAT(mistakes({"description = \"a\"\ntrain.steps = 3\nnotes.train.stpes = \"x\"\n"}),
              AllOf(HasSubstr("a note on `train.stpes`, which the preset does not set\n  --> presets/a.toml:3:13"),
                    HasSubstr("did you mean `train.steps`?")));
}

TEST(Preset, CannotSayWhatItsBundleSays) {
  for (const std::string key : {"algorithm.name", "algorithm.loss.name", "plugins.paths", "plugins"}) {
    EXPECT_THAT(mistakes({"description = \"a\"\n" + key + " = \"x\"\n"}),
                HasSubstr("a preset cannot set `" + key + "`\n  --> presets/a.toml:2:"));
  }
}

}  // namespace drift::preset_test
