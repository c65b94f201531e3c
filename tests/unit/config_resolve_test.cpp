// Where the values of a configuration come from.

#include "tests/support/support.h"

#include <core/config/run_config.h>

#include <tests/support/two_algorithms.h>

namespace drift::config_resolve_test {

using test::Config;
using namespace testing;

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

std::vector<std::string> notes_of(const RunConfig& config) {
  std::vector<std::string> texts;
  for (const RunNote& note : config.notes()) texts.push_back(note.text);
  return texts;
}

TEST_F(Config, LaterFilesAndTheFileItselfWinKeyByKey) {
  write("a.toml", "[train]\nsteps = 1\ngroup_size = 4\nprompts_per_step = 5\n");
  write("b.toml", "[train]\nsteps = 2\ngroup_size = 6\n");
  const auto file = write("run.toml", "extends = [\"base.toml\", \"a.toml\", \"b.toml\"]\n[train]\nsteps = 3\n");
  const Parameters train = resolve(file).section("train");
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
  EXPECT_EQ(config.get<RunSettings>().name, "run");
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
  EXPECT_THAT(config.resolved_toml(), HasSubstr("algorithm.loss.beta = 0.01 (preset paper of steps) has no effect: "));
}

TEST_F(Config, APresetsSettingForAnotherRolloutIsReportedAndIsNotAMistake) {
  EXPECT_FALSE(resolve_text("").section("rollout").values().contains("width"));
  EXPECT_THAT(notes_of(resolve_text("")),
              ElementsAre("rollout.width = 2 (preset paper of steps) has no effect: rollout `blocks` has no such "
                          "parameter"));
  EXPECT_THAT(notes_of(resolve_text("[algorithm]\nname = \"everything\"")),
              ElementsAre(HasSubstr("rollout.height = 2 (preset paper of everything) has no effect")))
      << "it is another rollout's";
  EXPECT_THAT(resolve_text("[algorithm]\nname = \"everything\"\n[rollout]\nname = \"tall_blocks\"").notes(),
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

TEST_F(Config, WhatWasWrittenForAnotherComponentStaysWhereTheNewOneTakesIt) {
  test::add(
      registry_, ComponentKind::kRollout, "rows",
      {{"length", 256, "response positions", between(16, 512)}, {"temperature", 0.5, "of sampling", at_least(0)}});
  test::add_algorithm(registry_, "rowwise", "steps", "smooth",
                      {test::preset("paper", "rollout.length = 128\nalgorithm.loss.beta = 0.5\n")});
  const RunConfig config =
      resolve_text("[rollout]\nlength = 24\n[evaluation.rollout]\ntemperature = 0\n[algorithm.loss]\nbeta = 0.25\n",
                   {"rollout.name=rows", "algorithm.name=rowwise"});
  EXPECT_EQ(config.section("rollout").get<std::int64_t>("length"), 24) << "neither the default nor the preset's";
  EXPECT_EQ(config.section("rollout").get<double>("temperature"), 0.5) << "nobody wrote one";
  EXPECT_EQ(config.section("evaluation.rollout").get<double>("temperature"), 0.0);
  EXPECT_EQ(config.section("algorithm.loss").get<double>("beta"), 0.25);
  EXPECT_THAT(config.notes(), testing::IsEmpty());
}

TEST_F(Config, WhatTheNewComponentDoesNotTakeIsSetAsideAndNamedWithItsPlace) {
  test::add(registry_, ComponentKind::kRollout, "rows",
            {{"length", 256, "response positions", between(16, 512)}, {"threshold", "sure", "of commits"}});
  const RunConfig config =
      resolve_text("[rollout]\nlength = 8\nthreshold = 0.5\ntemperature = 0.7\n", {"rollout.name=rows"});
  EXPECT_EQ(config.section("rollout").get<std::int64_t>("length"), 256);
  EXPECT_EQ(config.section("rollout").get<std::string>("threshold"), "sure");
  EXPECT_THAT(
      notes_of(config),
      ElementsAre(MatchesRegex("rollout.length = 8 \\(.*run.toml:3\\) has no effect: `length` of rollout `rows` "
                               "must be .*16.*"),
                  MatchesRegex("rollout.temperature = 0.7 \\(.*run.toml:5\\) has no effect: rollout `rows` "
                               "has no such parameter"),
                  MatchesRegex("rollout.threshold = 0.5 \\(.*run.toml:4\\) has no effect: `threshold` of "
                               "rollout `rows` is of type text"),
                  HasSubstr("rollout.width")));
  for (const std::string& note : notes_of(config)) EXPECT_THAT(config.resolved_toml(), HasSubstr("\n#   " + note));
}

TEST_F(Config, WarningsAreAboutWhatTheUserWrote) {
  write("shared.toml", "[rollout]\nlength = 8\nthreshold = 0.5\n");
  const auto file = write("run.toml", "extends = [\"base.toml\", \"shared.toml\"]\n[rollout]\ntemperature = 0.7\n");
  test::add(registry_, ComponentKind::kRollout, "none");
  const RunConfig config = resolve(file, {"rollout.name=none"});
  EXPECT_EQ(config.notes().size(), 4u) << "width of the preset, two of the extended file, the file's own";
  EXPECT_THAT(config.warnings(),
              ElementsAre(HasSubstr("run.toml:3) has no effect: rollout `none` has no such parameter"),
                          StartsWith("settings of the preset or of extended files that have no effect here: 3 ")));
  EXPECT_THAT(config.warnings(/*file_is_known=*/true), testing::IsEmpty()) << "eval says nothing again";
  EXPECT_THAT(resolve_text("").warnings(), ElementsAre(HasSubstr("have no effect here: 1 ")));
}

TEST_F(Config, EvaluationThatMayNoLongerBeGreedyIsAWarning) {
  const auto warnings = [&](const std::string& content, const std::vector<std::string>& sets) {
    return std::ranges::count_if(resolve_text(content, sets).warnings(/*file_is_known=*/true),
                                 [](const std::string& note) { return note.starts_with("evaluation may no longer"); });
  };
  const std::string greedy = "[evaluation.rollout]\ntemperature = 0\n";
  EXPECT_EQ(warnings(greedy, {"rollout.name=tall_blocks"}), 1);
  EXPECT_EQ(warnings(greedy, {"evaluation.rollout.name=tall_blocks"}), 1);
  EXPECT_EQ(warnings("[rollout]\ntemperature = 0.0\n", {"rollout.name=tall_blocks"}), 1);
  EXPECT_EQ(warnings(greedy, {"rollout.name=blocks"}), 0) << "the same component";
  EXPECT_EQ(warnings("[evaluation.rollout]\ntemperature = 1\n", {"rollout.name=tall_blocks"}), 0);
}

// A loss that averages parts of 6 responses where groups have 8 would count the last two three times.
TEST_F(Config, PartsOfALossDivideTheGroup) {
  test::add(registry_, ComponentKind::kLossEstimator, "parts",
            {{"micro_batch", 0, "responses that are averaged together", at_least(0)},
             {"norm", "token", "what divides the sum", one_of({"sample", "token"})}});
  test::add_algorithm(registry_, "parted", "steps", "parts",
                      {test::preset("paper", "algorithm.loss.micro_batch = 6\n")});
  const auto part = [&](const std::vector<std::string>& sets, const std::string& content = "") {
    std::vector<std::string> all = {"algorithm.name=parted"};
    all.insert(all.end(), sets.begin(), sets.end());
    return resolve_text(content, all);
  };
  const auto size = [](const RunConfig& config) {
    return config.section("algorithm.loss").get<std::int64_t>("micro_batch");
  };
  const RunConfig made = part({});
  EXPECT_EQ(size(made), 4);
  EXPECT_THAT(notes_of(made),
              ElementsAre("algorithm.loss.micro_batch = 4: the largest divisor of train.group_size = 8 up to 6, the "
                          "value of preset paper of parted"));
  EXPECT_EQ(size(part({"train.group_size=4"})), 4);
  EXPECT_EQ(size(part({"train.group_size=7"})), 1);
  EXPECT_EQ(size(part({}, "[train]\ngroup_size = 12\n")), 6);
  EXPECT_THAT(part({"train.group_size=12"}).notes(), testing::IsEmpty());
  EXPECT_EQ(size(part({"algorithm.loss.norm=sample"})), 6) << "it has no parts then";
  EXPECT_EQ(size(part({"algorithm.loss.micro_batch=2"})), 2);
  EXPECT_THAT(mistakes("[algorithm.loss]\nmicro_batch = 6\n", {"algorithm.name=parted"}),
              testing::AllOf(HasSubstr("`algorithm.loss.micro_batch` = 6 does not divide train.group_size = 8"),
                             HasSubstr("--> run.toml:3:15"), HasSubstr("values that fit: 1, 2, 4, 8, or 0")));
  // A run of an earlier version is repeated and evaluated as it was.
  EXPECT_EQ(size(resolve(write("config.toml",
                               "paths_from = \"x\"\nextends = [\"base.toml\"]\n[algorithm.loss]\n"
                               "micro_batch = 6\n"),
                         {"algorithm.name=parted"})),
            6);
  EXPECT_EQ(size(resolve(run_over_base("[algorithm.loss]\nmicro_batch = 6\n"), {"algorithm.name=parted"},
                         ConfigPurpose::kEval)),
            6);
}

TEST_F(Config, PlansOfInnerIterationsThatAreNeverMadeAreNamed) {
  test::add(registry_, ComponentKind::kMaskingStrategy, "rounds", {{"iterations", 5, "of a rollout", at_least(1)}});
  const std::string rounds = "[algorithm.masking]\nname = \"rounds\"\n";
  EXPECT_THAT(notes_of(resolve_text(rounds, {"train.inner_iterations=2"})),
              testing::Contains(HasSubstr("algorithm.masking.iterations = 5, and train.inner_iterations = 2: ")));
  EXPECT_THAT(notes_of(resolve_text(rounds, {"train.inner_iterations=5"})),
              testing::Not(testing::Contains(HasSubstr("iterations"))));
}

TEST_F(Config, OptionalSettingsAreForTheComponentsThatHaveThem) {
  const std::string content = "[optional]\nalgorithm.masking.p_prompt = 0.5\nalgorithm.masking.tau = 2.0\n";
  EXPECT_EQ(resolve_text(content).section("algorithm.masking").get<double>("tau"), 2.0);
  EXPECT_THAT(notes_of(resolve_text(content)), testing::Not(testing::Contains(HasSubstr("p_prompt"))));
  const RunConfig other = resolve_text(content, {"algorithm.name=everything"});
  EXPECT_EQ(other.section("algorithm.masking").get<double>("p_prompt"), 0.5);
  EXPECT_EQ(resolve_text(content + "[algorithm.masking]\ntau = 3.0\n").section("algorithm.masking").get<double>("tau"),
            3.0)
      << "its section wins";
  EXPECT_THAT(mistakes("[optional]\ntrain.stpes = 1\n"), HasSubstr("unknown key `stpes` in [train]"));
}

TEST_F(Config, NamingTheSameComponentAgainChangesNothingAndAnotherForEvaluationStartsFromWhatWasWrittenForTraining) {
  const std::string content = "[rollout]\nlength = 8\n[evaluation.rollout]\ntemperature = 0\n";
  const RunConfig again = resolve_text(content, {"rollout.name=blocks", "evaluation.rollout.name=blocks"});
  EXPECT_EQ(again.section("rollout").get<std::int64_t>("length"), 8);
  EXPECT_EQ(again.section("evaluation.rollout").get<std::int64_t>("length"), 8);
  EXPECT_EQ(again.section("evaluation.rollout").get<double>("temperature"), 0.0);
  test::add(registry_, ComponentKind::kRollout, "rows", {{"length", 256, "response positions", between(16, 512)}});
  const RunConfig config = resolve_text("[rollout]\nlength = 24\n[evaluation.rollout]\nname = \"rows\"\n");
  EXPECT_EQ(config.section("evaluation.rollout").get<std::int64_t>("length"), 24);
}

TEST_F(Config, AnotherAlgorithmBringsItsPartsAndAnotherTaskItsReward) {
  const RunConfig other = resolve_text("[algorithm.masking]\nmask_num = 8\n[algorithm.loss]\nname = \"steps\"\n",
                                       {"algorithm.name=everything", "algorithm.masking.p_prompt=0"});
  EXPECT_EQ(other.component("algorithm.masking"), "everything");
  EXPECT_EQ(other.component("algorithm.loss"), "smooth");
  EXPECT_EQ(other.get<TrainSettings>().inner_iterations, 12);
  EXPECT_THAT(notes_of(other), testing::Contains(HasSubstr("--set algorithm.name=everything names another algorithm")));

  const RunConfig words = resolve_text("[task]\ndigits = 2\n[reward]\nname = \"sums\"", {"task.name=words"});
  EXPECT_EQ(words.component("reward"), "words");
  EXPECT_THAT(notes_of(words), testing::Contains(HasSubstr("reward.name = \"sums\" (")));
  EXPECT_THAT(notes_of(words), testing::Contains(HasSubstr("task.digits = 2 (")));
}

TEST_F(Config, PathsCountFromTheFileThatSetsThem) {
  write("models/m.toml", "[model]\npath = \"weights\"\n[plugins]\npaths = [\"../plugins\"]\n");
  write("models/weights/config.json", "{}");
  const auto file =
      write("runs/run.toml", "extends = [\"../base.toml\", \"../models/m.toml\"]\n[model]\nname = \"toy\"\n");
  const RunConfig config = resolve(file);
  EXPECT_EQ(config.get<ModelSettings>().path, (folder_.path() / "models/weights").string());
  EXPECT_THAT(config.section("plugins").get<std::vector<std::string>>("paths"),
              ElementsAre((folder_.path() / "plugins").string()));
  EXPECT_THAT(plugin_paths(load_document(file, {})), ElementsAre(folder_.path() / "plugins"));
}

TEST_F(Config, AComponentsFilesCountFromTheFileThatSetsThem) {
  write("tasks/words.toml",
        "[task]\nname = \"words\"\nword_file = \"words.txt\"\nmore_files = [\"a.txt\", \"../b.txt\"]\n");
  const auto file = write("run.toml", "extends = [\"base.toml\", \"tasks/words.toml\"]\n");
  const Parameters task = resolve(file).section("task");
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
  EXPECT_THAT(first, testing::ContainsRegex("\ntau += inf  "));
}

TEST_F(Config, WhatTheMachineDecidesIsInTheRunsFile) {
  RunConfig config = resolve_text("");
  config.settle("train.memory_budget_mib", std::int64_t{4096}, "by the machine");
  EXPECT_EQ(config.get<TrainSettings>().memory_budget, std::int64_t{4096} << 20);
  EXPECT_EQ(config.get<TrainSettings>().steps, resolve_text("").get<TrainSettings>().steps);
  EXPECT_THAT(config.resolved_toml(), testing::ContainsRegex("\nmemory_budget_mib += 4096 .*# by the machine\n"));
}

}  // namespace drift::config_resolve_test
