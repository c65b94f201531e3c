#include <core/config/run_config.h>

#include <drift/registry.h>

#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace drift {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

void add(Registry& registry, ComponentKind kind, const std::string& name, ParamSpecs params = {}) {
  registry.add(kind, name, "", std::move(params), {});
}

/// A preset as a plugin carries it; `settings` begin in the second line of its file.
BundlePreset preset(const std::string& name, const std::string& settings) {
  return {name, "presets/" + name + ".toml", "description = \"of the test\"\n" + settings};
}

/// A small world: two algorithms, two tasks.
Registry make_registry() {
  Registry registry;
  add(registry, ComponentKind::kModel, "toy", {{"layers", 2, "number of layers", at_least(1)}});
  add(registry, ComponentKind::kModel, "other_toy");
  add(registry, ComponentKind::kTask, "sums", {{"digits", 3, "digits of a number", between(1, 9)}});
  add(registry, ComponentKind::kTask, "words",
      {path("word_file", "", "one word a line"), paths("more_files", "further ones")});
  add(registry, ComponentKind::kReward, "sums", {{"strict", false, "refuse spaces"}});
  add(registry, ComponentKind::kReward, "words");
  add(registry, ComponentKind::kRollout, "blocks",
      {{"length", 20, "response positions", at_least(1)},
       {"temperature", 1.0, "of sampling, 0 = greedy", at_least(0)},
       {"threshold", 0.9, "confidence from which on a token is committed", between(0, 1)}});
  add(registry, ComponentKind::kRollout, "tall_blocks", {{"height", 1, "of a block", at_least(1)}});
  add(registry, ComponentKind::kMaskingStrategy, "steps",
      {{"mask_num", 16, "steps per response", at_least(1)},
       {"tau", 1.0, "of the selection", or_infinite(at_least(0))}});
  add(registry, ComponentKind::kMaskingStrategy, "everything",
      {{"p_prompt", 0.15, "of a prompt token", between(0, 1)}});
  add(registry, ComponentKind::kLossEstimator, "steps",
      {{"beta", 0.0, "weight of the KL", at_least(0)},
       {"norm", "sample", "what divides the sum", one_of({"sample", "token"})}});
  add(registry, ComponentKind::kLossEstimator, "smooth", {{"beta", 2.0, "curvature", at_least(0)}});
  registry.add_bundle({.name = "steps",
                       .doc = "",
                       .paper = "",
                       .masking = "steps",
                       .loss = "steps",
                       .presets = {preset("paper",
                                          "advantage.std = \"population\"\nalgorithm.loss.beta = 0.01\n"
                                          "optional.rollout.width = 2\n"),
                                   preset("release", "algorithm.masking.mask_num = 4\n"),
                                   preset("misspelt", "extends = \"release\"\n[train]\nstpes = 4\n")},
                       .plugin = "steps"});
  registry.add_bundle({.name = "everything",
                       .doc = "",
                       .paper = "",
                       .masking = "everything",
                       .loss = "smooth",
                       .presets = {preset("paper", "train.inner_iterations = 12\nrollout.height = 2\n")},
                       .plugin = "everything"});
  registry.add_bundle({.name = "borrowed",
                       .doc = "",
                       .paper = "",
                       .masking = "of_another_plugin",
                       .loss = "smooth",
                       .presets = {preset("paper", "algorithm.masking.p_prompt = 0.3\n")},
                       .plugin = "everything"});
  return registry;
}

/// A folder with a complete run.toml; tests add to it.
class Config : public testing::Test {
 protected:
  Config() {
    test::write_file(folder_.path() / "checkpoint/config.json", R"({"model_type": "toy"})");
    test::write_file(folder_.path() / "base.toml", R"([model]
path = "checkpoint"
[task]
name = "sums"
[rollout]
name = "blocks"
[algorithm]
name = "steps"
)");
  }

  std::filesystem::path write(const std::string& name, const std::string& content) const {
    test::write_file(folder_.path() / name, content);
    return folder_.path() / name;
  }

  RunConfig resolve(const std::filesystem::path& file, const std::vector<std::string>& sets = {},
                    ConfigPurpose purpose = ConfigPurpose::kTrain) const {
    std::vector<ConfigOverride> overrides;
    for (const std::string& set : sets) overrides.push_back(ConfigOverride::from_set(set));
    return resolve_config(load_document(file, overrides), registry_, purpose);
  }

  /// run.toml = base.toml with `content` over it.
  RunConfig resolve_text(const std::string& content, const std::vector<std::string>& sets = {}) const {
    return resolve(write("run.toml", "extends = [\"base.toml\"]\n" + content), sets);
  }

  /// What the user sees, with the temporary folder left out.
  std::string mistakes(const std::string& content, const std::vector<std::string>& sets = {},
                       ConfigPurpose purpose = ConfigPurpose::kTrain) const {
    return mistakes_of(write("run.toml", "extends = [\"base.toml\"]\n" + content), sets, purpose);
  }

  std::string mistakes_of(const std::filesystem::path& file, const std::vector<std::string>& sets = {},
                          ConfigPurpose purpose = ConfigPurpose::kTrain) const {
    try {
      resolve(file, sets, purpose);
    } catch (const ConfigError& error) {
      std::string text = error.text(false);
      const std::string prefix = folder_.path().string() + "/";
      for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
      return text;
    }
    return "no mistake";
  }

  test::TemporaryFolder folder_;
  Registry registry_ = make_registry();
};

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

// ---- where values come from ----

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

// ---- mistakes ----

TEST_F(Config, AnAlgorithmWhosePartAnotherPluginShouldBring) {
  EXPECT_EQ(mistakes("[algorithm]\nname = \"borrowed\"\n"),
            R"(error: unknown masking strategy `of_another_plugin`
  --> run.toml:3:8
   |
 3 | name = "borrowed"
   |        ^^^^^^^^^^ this algorithm needs it
   = masking strategies: steps, everything    (drift plugin list)
)");
  EXPECT_EQ(mistakes("[algorithm]\nname = \"borrowed\"\n[algorithm.masking]\nname = \"everything\"\n"), "no mistake");
}

TEST_F(Config, AnUnknownParameter) {
  EXPECT_EQ(mistakes("\n[algorithm.masking]\nmask_nun = 4\n"),
            R"(error: unknown parameter `mask_nun` of masking strategy `steps`
  --> run.toml:4:1
   |
 4 | mask_nun = 4
   | ^^^^^^^^ did you mean `mask_num`?
   = parameters of `steps`: mask_num, tau    (drift plugin info steps)
)");
}

TEST_F(Config, AnUnknownKeyOfTheCore) {
  EXPECT_THAT(mistakes("[advantage]\nstdd = \"none\"\n"), R"(error: unknown key `stdd` in [advantage]
  --> run.toml:3:1
   |
 3 | stdd = "none"
   | ^^^^ did you mean `std`?
   = keys of [advantage]: baseline, std, std_floor, std_epsilon
)");
  EXPECT_THAT(mistakes("[run]\nlearning_rate = 1.0\n"), HasSubstr("^^^^^^^^^^^^^ it belongs to [train], [pretrain]\n"));
}

TEST_F(Config, AnUnknownSection) {
  EXPECT_THAT(mistakes("[trian]\nsteps = 4\n"), HasSubstr(R"(error: unknown section [trian]
  --> run.toml:2:2
   |
 2 | [trian]
   |  ^^^^^ did you mean [train]?
   = sections: run, plugins, model,)"));
}

TEST_F(Config, AWrongType) {
  EXPECT_EQ(mistakes("[train]\n\tsteps = \"many\"\n"),
            "error: `train.steps` must be an integer\n"
            "  --> run.toml:3:10\n"
            "   |\n"
            " 3 | \tsteps = \"many\"\n"
            "   | \t        ^^^^^^ this is a text\n"
            "   = `steps`: optimisation steps (rollouts); integer, >= 1, default 100\n");
  EXPECT_THAT(mistakes("[train]\nsteps = 1.5\n"), HasSubstr("this is a number with a point"));
  EXPECT_THAT(mistakes("[run]\nname = 2026-01-01\n"), HasSubstr("this is a date"));
  EXPECT_THAT(mistakes("[plugins]\npaths = [1]\n"), HasSubstr("must be a list of texts"));
  EXPECT_THAT(mistakes("train = 3\n"), HasSubstr("`train` is a section, not a value"));
  EXPECT_THAT(mistakes("[train.steps]\nx = 1\n"), HasSubstr("`train.steps` is a value, not a section"));
}

TEST_F(Config, OutOfRangeAndNotFinite) {
  EXPECT_THAT(mistakes("[train]\ngroup_size = 1\n"), HasSubstr("`train.group_size` must be >= 2"));
  EXPECT_THAT(mistakes("[train]\nlearning_rate = nan\n"), HasSubstr("must be a number, not nan"));
  EXPECT_THAT(mistakes("[train]\nlearning_rate = inf\n"), HasSubstr("must be finite"));
  EXPECT_EQ(mistakes("[algorithm.masking]\ntau = inf\n"), "no mistake");
  EXPECT_EQ(mistakes("[train]\nlearning_rate = 1\n"), "no mistake");  // an integer where a number is declared
  EXPECT_THAT(mistakes("[run]\nname = \"a/b\"\n"), HasSubstr("`run.name` must be a plain folder name"));
  EXPECT_THAT(mistakes("[run]\ndevice = \"cdua\"\n"), HasSubstr("^^^^^^ did you mean `cuda`?"));
}

TEST_F(Config, UnknownComponentsBundlesAndPresets) {
  EXPECT_EQ(mistakes("[algorithm.loss]\nname = \"smoth\"\n"), R"(error: unknown loss `smoth`
  --> run.toml:3:8
   |
 3 | name = "smoth"
   |        ^^^^^^^ did you mean `smooth`?
   = losses: steps, smooth    (drift plugin list)
)");
  EXPECT_THAT(mistakes("[algorithm]\nname = \"step\"\n"), HasSubstr("unknown algorithm `step`"));
  EXPECT_THAT(mistakes("[algorithm]\npreset = \"papper\"\n"),
              HasSubstr("did you mean `paper`?\n   = presets of `steps`: paper, release, misspelt"));
}

TEST_F(Config, OnTheCommandLineTheFlagIsShown) {
  EXPECT_EQ(mistakes("", {"train.stpes=20"}), R"(error: unknown key `stpes` in [train]
  --> --set train.stpes=20
            ^^^^^^^^^^^ did you mean `steps`?
   = keys of [train]: steps, prompts_per_step, group_size, inner_iterations, views_per_update, optimizer_restart, checkpoint_every, keep_checkpoints, memory_budget_mib, learning_rate, schedule, warmup_steps, final_fraction, beta1, beta2, epsilon, weight_decay, gradient_clip
)");
  EXPECT_THAT(mistakes("", {"train.steps=0"}), HasSubstr("  --> --set train.steps=0\n                        ^\n"));
}

TEST_F(Config, AllMistakesAreFoundTogether) {
  const std::string text = mistakes("[train]\nsteps = 0\nstpes = 1\n[trian]\n[run]\nseed = -1\n", {"rollout.length=x"});
  for (const char* part :
       {"`train.steps` must be", "unknown key `stpes`", "[trian]", "`run.seed` must be", "`rollout.length` must be"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(Config, WhatIsNeededAndNotNamed) {
  EXPECT_EQ(mistakes_of(write("empty.toml", "[model]\nname = \"toy\"\n"), {}, ConfigPurpose::kEval),
            R"(error: no task is named
  --> empty.toml
   = name it: [task] name = "sums"
   = tasks: sums, words    (drift plugin list)

error: no reward is named
  --> empty.toml
   = name it: [reward] name = "sums"
   = rewards: sums, words    (drift plugin list)

error: no rollout is named
  --> empty.toml
   = name it: [rollout] name = "blocks"
   = rollouts: blocks, tall_blocks    (drift plugin list)
)");
}

TEST_F(Config, AMissingCheckpointIsFoundBeforeAnythingRuns) {
  EXPECT_THAT(mistakes("[model]\nname = \"toy\"\npath = \"nowhere\"\n"),
              HasSubstr("no checkpoint at `nowhere`\n  --> run.toml:4:8"));
  EXPECT_THAT(mistakes_of(write("bare.toml", "[model]\nname = \"toy\"\n[task]\nname = \"sums\"\n"), {},
                          ConfigPurpose::kPretrain),
              HasSubstr("no checkpoint is named\n  --> bare.toml"));
  EXPECT_EQ(mistakes("[model]\npath = \"nowhere\"\n", {"model.initialize=random", "model.name=toy"}), "no mistake");
}

}  // namespace
}  // namespace drift
