// Where the values of a configuration come from.

#include <core/config/run_config.h>

#include <tests/support/two_algorithms.h>

#include <string>
#include <vector>

namespace drift {
namespace {

using test::Config;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string origin_of(const RunConfig& config, const std::string& section, const std::string& name) {
  for (const ResolvedSection& s : config.sections()) {
    for (const ResolvedValue& value : s.values) {
      if (s.name == section && value.name == name) {
        const std::string text = value.origin.text();
        return value.origin.kind == Origin::Kind::kFile ? text.substr(text.rfind('/') + 1) : text;
      }
    }
  }
  return "missing";
}

TEST_F(Config, LaterFilesAndTheFileItselfWinKeyByKey) {
  write("a.toml", "[train]\nsteps = 1\ngroup_size = 4\nprompts_per_step = 5\n");
  write("b.toml", "[train]\nsteps = 2\ngroup_size = 6\n");
  const auto file = write("run.toml", "extends = [\"base.toml\", \"a.toml\", \"b.toml\"]\n[train]\nsteps = 3\n");
  const Params train = resolve(file).section("train");
  EXPECT_EQ(train.get<std::int64_t>("steps"), 3);
  EXPECT_EQ(train.get<std::int64_t>("group_size"), 6);
  EXPECT_EQ(train.get<std::int64_t>("prompts_per_step"), 5);
  EXPECT_EQ(train.get<std::int64_t>("inner_iterations"), 1);
}

TEST_F(Config, EachValueKnowsItsOrigin) {
  const RunConfig config = resolve_text("[train]\nsteps = 3\n", {"train.group_size=4"});
  EXPECT_EQ(origin_of(config, "train", "steps"), "run.toml:3");
  EXPECT_EQ(origin_of(config, "train", "group_size"), "--set train.group_size=4");
  EXPECT_EQ(origin_of(config, "train", "beta1"), "default");
  EXPECT_EQ(origin_of(config, "advantage", "std"), "preset paper of steps");
  EXPECT_EQ(origin_of(config, "task", "name"), "base.toml:4");
  EXPECT_EQ(origin_of(config, "reward", "name"), "as in [task]");
  EXPECT_EQ(origin_of(config, "algorithm.loss", "name"), "algorithm steps");
  EXPECT_EQ(origin_of(config, "evaluation.rollout", "length"), "as in [rollout]");
  EXPECT_EQ(config.component("model"), "toy");
  EXPECT_EQ(origin_of(config, "model", "name"), "config.json of checkpoint");
  EXPECT_EQ(config.section("run").get<std::string>("name"), "run");
}

TEST_F(Config, APresetOverridesDefaultsAndFilesOverrideIt) {
  EXPECT_EQ(resolve_text("").section("algorithm.loss").get<double>("beta"), 0.01);
  EXPECT_EQ(resolve_text("[algorithm.loss]\nbeta = 0.5").section("algorithm.loss").get<double>("beta"), 0.5);
  const RunConfig release = resolve_text("[algorithm]\npreset = \"release\"");
  EXPECT_EQ(release.section("algorithm.loss").get<double>("beta"), 0.0);
  EXPECT_EQ(release.section("algorithm.masking").get<std::int64_t>("mask_num"), 4);
}

TEST_F(Config, APresetsSettingsForALossDoNotReachTheOneInItsPlace) {
  const RunConfig config = resolve_text("[algorithm.loss]\nname = \"smooth\"");
  EXPECT_EQ(config.component("algorithm.loss"), "smooth");
  EXPECT_EQ(config.section("algorithm.loss").get<double>("beta"), 2.0);
  EXPECT_THAT(config.resolved_toml(), HasSubstr("algorithm.loss.beta (preset paper of steps): "));
}

TEST_F(Config, APresetsSettingForAnotherRolloutIsReportedAndIsNotAMistake) {
  EXPECT_FALSE(resolve_text("").section("rollout").values().contains("width"));
  EXPECT_THAT(resolve_text("").preset_notes(),
              ElementsAre("rollout.width = 2 (preset paper of steps) has no effect: rollout `blocks` has no such "
                          "parameter"));
  EXPECT_THAT(resolve_text("[algorithm]\nname = \"everything\"").preset_notes(),
              ElementsAre(HasSubstr("rollout.height = 2 (preset paper of everything) has no effect")))
      << "it is another rollout's";
  EXPECT_THAT(resolve_text("[algorithm]\nname = \"everything\"\n[rollout]\nname = \"tall_blocks\"").preset_notes(),
              testing::IsEmpty());
  EXPECT_THAT(mistakes("[rollout]\nwidth = 2"), HasSubstr("unknown parameter `width` of rollout `blocks`"));
}

TEST_F(Config, AMisspeltKeyOfAPresetIsAMistakeInItsFile) {
  EXPECT_THAT(mistakes("[algorithm]\npreset = \"misspelt\"\n"), StartsWith("error: unknown key `stpes` in [train]\n"
                                                                           "  --> presets/misspelt.toml:4:1\n"
                                                                           "   |\n"
                                                                           " 4 | stpes = 4\n"
                                                                           "   | ^^^^^ did you mean `steps`?\n"));
}

TEST_F(Config, EvaluationDecodesAsTrainingDoesByDefault) {
  const RunConfig config = resolve_text("[rollout]\nlength = 8\n[evaluation.rollout]\ntemperature = 0\n");
  EXPECT_EQ(config.section("evaluation.rollout").get<std::int64_t>("length"), 8);
  EXPECT_EQ(config.section("evaluation.rollout").get<double>("temperature"), 0.0);
  EXPECT_EQ(config.section("rollout").get<double>("temperature"), 1.0);
}

TEST_F(Config, ParametersOfAnotherComponentAreSetAside) {
  const std::string content = "[algorithm.masking]\nmask_num = 8\n[algorithm.loss]\nnorm = \"token\"\n";
  const RunConfig swapped = resolve_text(content, {"algorithm.loss.name=smooth"});
  EXPECT_EQ(swapped.component("algorithm.loss"), "smooth");
  EXPECT_EQ(swapped.section("algorithm.masking").get<std::int64_t>("mask_num"), 8);
  EXPECT_THAT(swapped.resolved_toml(), HasSubstr("algorithm.loss.norm"));

  const RunConfig other = resolve_text(content, {"algorithm.name=everything", "algorithm.masking.p_prompt=0"});
  EXPECT_EQ(other.component("algorithm.masking"), "everything");
  EXPECT_EQ(other.section("train").get<std::int64_t>("inner_iterations"), 12);

  EXPECT_EQ(resolve_text("[task]\ndigits = 2\n[reward]\nname = \"sums\"", {"task.name=words"}).component("reward"),
            "words");
}

TEST_F(Config, PathsCountFromTheFileThatSetsThem) {
  write("models/m.toml", "[model]\npath = \"weights\"\n[plugins]\npaths = [\"../plugins\"]\n");
  write("models/weights/config.json", "{}");
  const auto file =
      write("runs/run.toml", "extends = [\"../base.toml\", \"../models/m.toml\"]\n[model]\nname = \"toy\"\n");
  const RunConfig config = resolve(file);
  EXPECT_EQ(config.section("model").get<std::string>("path"), (folder_.path() / "models/weights").string());
  EXPECT_THAT(config.section("plugins").get<std::vector<std::string>>("paths"),
              ElementsAre((folder_.path() / "plugins").string()));
  EXPECT_THAT(plugin_paths(load_document(file, {})), ElementsAre(folder_.path() / "plugins"));
}

TEST_F(Config, AComponentsFilesCountFromTheFileThatSetsThem) {
  write("tasks/words.toml",
        "[task]\nname = \"words\"\nword_file = \"words.txt\"\nmore_files = [\"a.txt\", \"../b.txt\"]\n");
  const auto file = write("run.toml", "extends = [\"base.toml\", \"tasks/words.toml\"]\n");
  const Params task = resolve(file).section("task");
  EXPECT_EQ(task.get<std::string>("word_file"), (folder_.path() / "tasks/words.txt").string());
  EXPECT_THAT(task.get<std::vector<std::string>>("more_files"),
              ElementsAre((folder_.path() / "tasks/a.txt").string(), (folder_.path() / "b.txt").string()));
}

TEST_F(Config, TheCommandDecidesWhichSectionsAreNeeded) {
  const auto file =
      write("small.toml", "[model]\nname = \"toy\"\ninitialize = \"random\"\nlayers = 3\n[task]\nname = \"sums\"\n");
  const RunConfig config = resolve(file, {}, ConfigPurpose::kPretrain);
  EXPECT_EQ(config.section("model").get<std::int64_t>("layers"), 3);
  EXPECT_TRUE(config.has("pretrain"));
  EXPECT_FALSE(config.has("train"));
  EXPECT_FALSE(config.has("rollout"));
  EXPECT_THAT(mistakes_of(file), HasSubstr("no rollout is named"));
}

TEST_F(Config, TheResolvedFileAloneGivesTheSameRun) {
  const std::string first = resolve_text(R"([run]
seed = 7
[algorithm.masking]
tau = inf
[evaluation.rollout]
temperature = 0
[train]
learning_rate = 1e-4
)",
                                         {"train.steps=5"})
                                .resolved_toml();
  const auto without_comments = [](const std::string& text) {
    std::istringstream lines(text);
    std::string out;
    for (std::string line; std::getline(lines, line);) out += line.substr(0, line.find("  # ")) + "\n";
    return out;
  };
  const auto file = write("elsewhere/config.toml", first);
  const std::string second = resolve(file).resolved_toml();
  EXPECT_EQ(without_comments(second), without_comments(first));
  EXPECT_THAT(first, HasSubstr("\ntau                 = inf  "));
}

}  // namespace
}  // namespace drift
