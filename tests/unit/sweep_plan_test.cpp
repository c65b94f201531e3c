// From a sweep's file to its runs: the grid, what wins, what is refused, what is the same run.

#include "tests/support/support.h"

#include <core/sweep/sweep_plan.h>

#include <tests/support/config_folder.h>

namespace drift::sweep_plan_test {

using namespace testing;

Registry make_registry() {
  Registry registry;
  test::add(registry, ComponentKind::kModel, "toy");
  test::add(registry, ComponentKind::kTask, "sums", {{"digits", 3, "digits of a number"}});
  test::add(registry, ComponentKind::kReward, "sums");
  test::add(registry, ComponentKind::kRollout, "blocks", {{"length", 20, "response positions", at_least(1)}});
  for (const char* name : {"plain", "clever"}) {
    test::add(registry, ComponentKind::kMaskingStrategy, name, {{"k", 4, "contexts", at_least(1)}});
    test::add(registry, ComponentKind::kLossEstimator, name);
    test::add_algorithm(registry, name, name, name);
  }
  test::add_algorithm(registry, "long", "plain", "plain",
                      {{"paper", "long.toml", "description = \"long answers\"\nrollout.length = 40\n", {}}});
  return registry;
}

class SweepPlanning : public test::ConfigFolder {
 protected:
  SweepPlanning() { write_run("base.toml", "plain"); }

  SweepPlan plan(const std::string& content, const std::vector<std::string>& sets = {}) const {
    SweepFile file =
        read_sweep_file(write("sweep.toml", "extends = [\"base.toml\"]\n" + content), test::overrides_of(sets));
    auto cells = expand_grid(file);
    auto documents = cell_documents(file, cells);
    return plan_sweep(std::move(file), std::move(cells), documents, [&](const ConfigDocument& document) {
      return resolve_config(document, registry_, ConfigPurpose::kTrain);
    });
  }

  std::vector<std::string> labels(const std::string& content) const {
    std::vector<std::string> texts;
    for (const GridCell& cell : plan(content).cells) texts.push_back(cell.label);
    return texts;
  }

  /// `section.name` of every cell's first run.
  std::vector<std::int64_t> values(const std::string& content, const std::string& section, const std::string& name,
                                   const std::vector<std::string>& sets = {}) const {
    const SweepPlan made = plan(content, sets);
    std::vector<std::int64_t> found;
    for (const auto& seeds : made.seeds)
      found.push_back(made.runs[seeds.front().run].config.section(section).get<std::int64_t>(name));
    return found;
  }

  std::string mistakes(const std::string& content, const std::vector<std::string>& sets = {}) const {
    return mistakes_in([&] { plan(content, sets); });
  }

  Registry registry_ = make_registry();
};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// ---- the grid ----

TEST_F(SweepPlanning, TheGridIsEveryCombinationAndTheLastAxisVariesFastest) {
  EXPECT_THAT(
      labels(R"(
[[sweep.axis]]
name = "task"
values = [{ name = "short", set = { task.digits = 1 } }, { name = "long", set = { task.digits = 9 } }]
[sweep.grid]
train.steps = [10, 20]
algorithm.masking.k = [1]
)"),
      ElementsAre("short, steps=10, k=1", "short, steps=20, k=1", "long, steps=10, k=1", "long, steps=20, k=1"));
}

TEST_F(SweepPlanning, CellsAreCalledByTheirValuesInTheOrderOfTheFile) {
  EXPECT_THAT(labels("[sweep.grid]\ntrain.steps = [1]\nalgorithm.masking.k = [2]\n"), ElementsAre("steps=1, k=2"));
  EXPECT_THAT(labels("[sweep.grid]\nalgorithm.masking.k = [2]\ntrain.steps = [1]\n"), ElementsAre("k=2, steps=1"));
  EXPECT_THAT(labels("[sweep.grid]\nalgorithm.name = [\"plain\", \"clever\"]\n"), ElementsAre("plain", "clever"));
  EXPECT_THAT(labels("[sweep.grid]\ntrain.learning_rate = [3e-5, 0.0001, 0.25]\n"),
              ElementsAre("learning_rate=3e-5", "learning_rate=1e-4", "learning_rate=0.25"));
  EXPECT_THAT(labels("[sweep]\nname = \"alone\"\n"), ElementsAre("alone")) << "without an axis";
}

TEST_F(SweepPlanning, AValueCanBeWrittenOutInLines) {
  EXPECT_THAT(values(R"([[sweep.axis]]
name = "algorithm"
[[sweep.axis.values]]
name = "first"
[[sweep.axis.values]]
name = "second"
set.algorithm.name = "clever"
set.algorithm.masking.k = 8
)",
                     "algorithm.masking", "k"),
              ElementsAre(4, 8));
}

TEST_F(SweepPlanning, EveryCellRunsEverySeedOrThatOfTheFileAndTheFirstSeedOfAllComesFirst) {
  const SweepPlan made = plan("[sweep]\nseeds = [7, 8]\n[sweep.grid]\ntrain.steps = [1, 2]\n");
  std::vector<std::string> order;
  for (const SweepRun& run : made.runs) order.push_back(run.label);
  EXPECT_THAT(order, ElementsAre("steps=1, seed 7", "steps=2, seed 7", "steps=1, seed 8", "steps=2, seed 8"));
  EXPECT_EQ(made.seeds[1][1].seed, 8);
  EXPECT_EQ(made.runs[made.seeds[1][1].run].label, "steps=2, seed 8");
  EXPECT_EQ(plan("[run]\nseed = 5\n[sweep]\n").seeds[0][0].seed, 5);
}

// ---- what wins ----

TEST_F(SweepPlanning, AValuesFilesLieBelowTheSweepsOwnSectionsAndItsKeysAbove) {
  write("axis.toml", "[task]\ndigits = 5\n[train]\nsteps = 5\ngroup_size = 5\n");
  const std::string sweep = R"([train]
steps = 6
group_size = 6
[sweep]
[[sweep.axis]]
name = "one"
values = [{ name = "a", extends = ["axis.toml"], set = { train.group_size = 7 } }]
)";
  EXPECT_THAT(values(sweep, "task", "digits"), ElementsAre(5));
  EXPECT_THAT(values(sweep, "train", "steps"), ElementsAre(6));
  EXPECT_THAT(values(sweep, "train", "group_size"), ElementsAre(7));
  EXPECT_THAT(values(sweep, "train", "group_size", {"train.group_size=8"}), ElementsAre(8));
}

TEST_F(SweepPlanning, WhereSettingsHoldOnlyWithCertainValuesOfOtherAxes) {
  const std::string sweep = R"([sweep]
[[sweep.axis]]
name = "task"
values = [{ name = "short" }, { name = "long" }, { name = "longest" }]
[[sweep.axis]]
name = "how"
values = [
  { name = "a", set = { train.steps = 5 }, where = [{ task = "long", set = { train.steps = 6 } }] },
  { name = "b", where = [{ task = ["long", "longest"], set = { train.steps = 7 } }, { task = "longest", set = { train.steps = 8 } }] },
]
)";
  EXPECT_THAT(values("[train]\nsteps = 1\n" + sweep, "train", "steps"), ElementsAre(5, 1, 6, 7, 5, 8));
}

TEST_F(SweepPlanning, WhereNamesAxesAndTheirValues) {
  const auto with = [&](const std::string& where) {
    return mistakes(
        "[[sweep.axis]]\nname = \"task\"\nvalues = [{ name = \"short\" }]\n[[sweep.axis]]\nname = \"how\"\n"
        "values = [{ name = \"a\", where = " +
        where + " }]\n");
  };
  EXPECT_EQ(with("[{ task = \"short\", set = { train.steps = 6 } }]"), "no mistake");
  EXPECT_THAT(with("[{ tsak = \"short\" }]"), HasSubstr("did you mean `task`?"));
  EXPECT_THAT(with("[{ task = [\"shrot\"] }]"), HasSubstr("did you mean `short`?"));
  EXPECT_THAT(with("[{ task = 3 }]"), HasSubstr("must be the name of a value"));
  EXPECT_THAT(with("\"short\""), HasSubstr("must be a list of tables"));
}

TEST_F(SweepPlanning, TheFilesValueStaysForEveryAlgorithmThatTakesIt) {
  EXPECT_THAT(values(R"([algorithm.masking]
k = 9
[sweep.grid]
algorithm.name = ["plain", "clever"]
)",
                     "algorithm.masking", "k"),
              ElementsAre(9, 9));
}

TEST_F(SweepPlanning, TheLastAxisIsComparedWithItsFirstValueUnlessTheFileSaysOtherwise) {
  const std::string grid = "[sweep.grid]\nalgorithm.name = [\"plain\", \"clever\"]\ntrain.steps = [10, 20]\n";
  EXPECT_EQ(plan(grid).file.compared, 1u);
  EXPECT_EQ(plan(grid).file.baseline, 0u);
  const SweepFile chosen = plan("[sweep]\ncompare = \"algorithm.name\"\nbaseline = \"clever\"\n" + grid).file;
  EXPECT_EQ(chosen.compared, 0u);
  EXPECT_EQ(chosen.baseline, 1u);
  EXPECT_EQ(plan("[sweep]\nbaseline = 20\n" + grid).file.baseline, 1u);
}

// Else the answers to held-out items would differ with the preset, not only with what was learned.
TEST_F(SweepPlanning, RolloutsThatPresetsMakeDifferentAreNoted) {
  const std::string algorithms = "[sweep.grid]\nalgorithm.name = [\"plain\", \"long\"]\n";
  EXPECT_THAT(plan_notes(plan("[sweep]\n" + algorithms)),
              ElementsAre(HasSubstr("axis `algorithm.name` different rollouts: length;")));
  EXPECT_THAT(plan_notes(plan("[rollout]\nlength = 20\n[sweep]\n" + algorithms)), IsEmpty());
  EXPECT_THAT(plan_notes(plan("[sweep.grid]\nrollout.length = [20, 40]\n")), IsEmpty()) << "what the sweep varies";
  EXPECT_THAT(plan_notes(plan("[sweep]\n")), IsEmpty());
}

// ---- the same run ----

TEST_F(SweepPlanning, CellsOfTheSameSettingsShareTheirRuns) {
  const SweepPlan made = plan(R"([sweep]
seeds = [1, 2]
[[sweep.axis]]
name = "spelling"
values = [{ name = "default" }, { name = "the same", set = { algorithm.masking.k = 4 } },
          { name = "other", set = { algorithm.masking.k = 5 } }]
)");
  EXPECT_EQ(made.runs.size(), 4u);
  EXPECT_EQ(made.seeds[0][1].run, made.seeds[1][1].run);
  EXPECT_NE(made.seeds[0][1].run, made.seeds[2][1].run);
}

// ---- mistakes ----

TEST_F(SweepPlanning, AMistakeIsToldOnceAndWithItsCells) {
  const std::string text = mistakes(R"([train]
stpes = 3
[sweep]
seeds = [1, 2, 3]
[sweep.grid]
algorithm.masking.k = [1, 0, 2]
train.steps = [5, 6]
)");
  EXPECT_EQ(count(text, "error:"), 2) << text;
  EXPECT_THAT(text, HasSubstr("sweep.toml:3:1"));
  EXPECT_THAT(text, HasSubstr("did you mean `steps`?"));
  EXPECT_THAT(text, HasSubstr("sweep.toml:7:27"));
  EXPECT_THAT(text, HasSubstr("in 2 of 6 cells: k=0, steps=5; k=0, steps=6"));
}

TEST_F(SweepPlanning, UnknownKeysOfTheSweepAreRefusedWithTheNearestName) {
  const std::string text = mistakes(R"([sweep]
sedes = [1]
[[sweep.axis]]
name = "a"
vales = []
)");
  EXPECT_THAT(text, HasSubstr("unknown key `sedes` in [sweep]"));
  EXPECT_THAT(text, HasSubstr("did you mean `seeds`?"));
  EXPECT_THAT(text, HasSubstr("sweep.toml:6:1"));
  EXPECT_THAT(text, HasSubstr("did you mean `values`?"));
}

TEST_F(SweepPlanning, WhatMakesNoGridIsRefused) {
  EXPECT_THAT(mistakes("[train]\nsteps = 3\n"), HasSubstr("has no [sweep] section"));
  EXPECT_THAT(mistakes("[sweep]\nseeds = [1, 1]\n"), HasSubstr("seed 1 is listed twice"));
  EXPECT_THAT(mistakes("[sweep]\nseeds = [1.5]\n"), HasSubstr("list of integers"));
  EXPECT_THAT(mistakes("[sweep]\nmeasure = \"rewards\"\n"), HasSubstr("did you mean `reward`?"));
  EXPECT_THAT(mistakes("[sweep]\nname = \"a/b\"\n"), HasSubstr("plain name"));
  EXPECT_THAT(mistakes("[sweep.grid]\ntrain.steps = 3\n"), HasSubstr("`train.steps` must be a list"));
  EXPECT_THAT(mistakes("[sweep.grid]\nrun.seed = [1, 2]\n"), HasSubstr("`run.seed` cannot be an axis"));
  EXPECT_THAT(mistakes("[sweep.grid]\ntrain.steps = [3, 3]\n"), HasSubstr("the value `3` twice"));
  EXPECT_THAT(mistakes("[sweep.grid]\ntrian.steps = [3]\n"), HasSubstr("did you mean [train]?"));
  EXPECT_EQ(count(mistakes("[sweep.grid]\n\"train.steps\" = [3, 4]\n"), "write train.steps"), 1);
  EXPECT_THAT(mistakes("[sweep]\ncompare = \"k\"\n[sweep.grid]\ntrain.steps = [3]\n"), HasSubstr("names no axis"));
  EXPECT_THAT(mistakes("[[sweep.axis]]\nname = \"a\"\nvalues = [1, 2]\n"), HasSubstr("use [sweep.grid]"));
  EXPECT_THAT(mistakes("[[sweep.axis]]\nname = \"a\"\nvalues = [{ name = \"b\", extends = [\"no.toml\"] }]\n"),
              HasSubstr("cannot read `no.toml`"));
}

TEST_F(SweepPlanning, ASweepsFileIsNeitherTrainedNorExtended) {
  const auto file = write("sweep.toml", "extends = [\"base.toml\"]\n[sweep]\n");
  EXPECT_THAT(mistakes_in([&] { resolve_config(load_document(file, {}), registry_, ConfigPurpose::kTrain); }),
              HasSubstr("this is a sweep's file: drift sweep "));
  write("base.toml", "[sweep]\nseeds = [1]\n");
  EXPECT_THAT(mistakes("[sweep]\n"), HasSubstr("a sweep's file cannot be extended"));
}

TEST_F(SweepPlanning, AGridOfThousandsOfCellsIsRefusedBeforeItIsMade) {
  std::string axes = "[sweep.grid]\n", list;
  for (int i = 0; i < 10'000; ++i) axes += "train.k" + std::to_string(i) + " = [1, 2, 3]\n";
  for (int i = 0; i < 10'001; ++i) list += std::to_string(i) + ", ";
  const auto error_of = [&](const std::string& content) { return test::error_of([&] { plan(content); }); };
  EXPECT_THAT(error_of("[sweep.grid]\ntrain.steps = [" + list + "]\n"), HasSubstr("more than 1000 cells"));
  EXPECT_NE(error_of(axes), "");
  EXPECT_THAT(error_of("[sweep]\nseeds = [" + list + "]\n"), HasSubstr("more than 10000 seeds"));
}

TEST_F(SweepPlanning, TheCommandLineChangesTheRunsAndNotTheGrid) {
  EXPECT_THAT(mistakes("[sweep]\nseeds = [1]\n", {"run.seed=2"}), HasSubstr("the file lists the seeds"));
  EXPECT_THAT(mistakes("[sweep]\n", {"sweep.name=2"}), HasSubstr("the command line cannot change [sweep]"));
  EXPECT_THAT(mistakes("[sweep]\n", {"run.seed=2"}), Not(HasSubstr("error")));
}

}  // namespace drift::sweep_plan_test
