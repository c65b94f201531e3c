// What is said of mistakes in a configuration.

#include "tests/support/support.h"

#include <core/config/run_config.h>

#include <tests/support/two_algorithms.h>

namespace drift::config_mistakes_test {

using ConfigMistakes = test::Config;
using testing::HasSubstr;

TEST_F(ConfigMistakes, AnAlgorithmWhosePartAnotherPluginShouldBring) {
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

TEST_F(ConfigMistakes, UnknownParametersKeysAndSections) {
  EXPECT_EQ(mistakes("\n[algorithm.masking]\nmask_nun = 4\n"),
            R"(error: unknown parameter `mask_nun` of masking strategy `steps`
  --> run.toml:4:1
   |
 4 | mask_nun = 4
   | ^^^^^^^^ did you mean `mask_num`?
   = parameters of `steps`: mask_num, tau    (drift plugin info steps)
)");
  EXPECT_THAT(mistakes("[advantage]\nstdd = \"none\"\n"), R"(error: unknown key `stdd` in [advantage]
  --> run.toml:3:1
   |
 3 | stdd = "none"
   | ^^^^ did you mean `std`?
   = keys of [advantage]: baseline, std, std_floor, std_epsilon
)");
  EXPECT_THAT(mistakes("[run]\nlearning_rate = 1.0\n"),
              HasSubstr("^^^^^^^^^^^^^ it belongs to [value], [train], [pretrain]\n"));
  EXPECT_THAT(mistakes("[trian]\nsteps = 4\n"), HasSubstr(R"(error: unknown section [trian]
  --> run.toml:2:2
   |
 2 | [trian]
   |  ^^^^^ did you mean [train]?
   = sections: run, plugins, model,)"));
  EXPECT_THAT(mistakes("[suite]\ntasks = []\n"), HasSubstr(R"(error: unknown section [suite]
  --> run.toml:2:2
   |
 2 | [suite]
   |  ^^^^^ this is a suite's file: drift eval CHECKPOINT --suite run.toml
)"));
  EXPECT_THAT(mistakes("[sweep.grid]\ntrain.steps = [1, 2]\n"),
              HasSubstr("this is a sweep's file: drift sweep run.toml"));
}

TEST_F(ConfigMistakes, AWrongType) {
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

TEST_F(ConfigMistakes, OutOfRangeAndNotFinite) {
  EXPECT_THAT(mistakes("[train]\ngroup_size = 1\n"), HasSubstr("`train.group_size` must be >= 2"));
  EXPECT_THAT(mistakes("[train]\nlearning_rate = nan\n"), HasSubstr("must be a number, not nan"));
  EXPECT_THAT(mistakes("[train]\nlearning_rate = inf\n"), HasSubstr("must be finite"));
  EXPECT_EQ(mistakes("[algorithm.masking]\ntau = inf\n"), "no mistake");
  EXPECT_EQ(mistakes("[train]\nlearning_rate = 1\n"), "no mistake");  // an integer where a number is declared
  EXPECT_THAT(mistakes("[run]\nname = \"a/b\"\n"), HasSubstr("`run.name` must be a plain folder name"));
  for (const std::string device : {"cdua", "gpu", "cuda:0"})
    EXPECT_THAT(mistakes("[run]\ndevice = \"" + device + "\"\n"), HasSubstr("^^ did you mean `cuda`?")) << device;
  EXPECT_THAT(mistakes("[train]\nlr = 1e-5\n"), HasSubstr("^^ did you mean `learning_rate`?"));
  EXPECT_THAT(mistakes("", {"lr=1e-5"}),
              HasSubstr("did you mean `learning_rate`? it belongs to [value], [train], [pretrain]"));
}

TEST_F(ConfigMistakes, UnknownComponentsAlgorithmsAndPresets) {
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

TEST_F(ConfigMistakes, OnTheCommandLineTheFlagIsShown) {
  EXPECT_EQ(mistakes("", {"train.stpes=20"}), R"(error: unknown key `stpes` in [train]
  --> --set train.stpes=20
            ^^^^^^^^^^^ did you mean `steps`?
   = keys of [train]: steps, prompts_per_step, group_size, inner_iterations, views_per_update, gap_responses, optimizer_restart, checkpoint_every, keep_checkpoints, keep_best, memory_budget_mib, learning_rate, schedule, warmup_steps, final_fraction, beta1, beta2, epsilon, weight_decay, gradient_clip, moments, offload
)");
  EXPECT_THAT(mistakes("", {"train.steps=0"}), HasSubstr("  --> --set train.steps=0\n                        ^\n"));
}

TEST_F(ConfigMistakes, AllMistakesAreFoundTogether) {
  const std::string text = mistakes("[train]\nsteps = 0\nstpes = 1\n[trian]\n[run]\nseed = -1\n", {"rollout.length=x"});
  for (const char* part :
       {"`train.steps` must be", "unknown key `stpes`", "[trian]", "`run.seed` must be", "`rollout.length` must be"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(ConfigMistakes, WhatIsNeededAndNotNamed) {
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

TEST_F(ConfigMistakes, AMissingCheckpointIsFoundBeforeAnythingRuns) {
  EXPECT_THAT(mistakes("[model]\nname = \"toy\"\npath = \"nowhere\"\n"),
              HasSubstr("no checkpoint at `nowhere`\n  --> run.toml:4:8"));
  std::filesystem::create_directory(folder_.path() / "hub");
  std::filesystem::create_symlink("../blobs/1a2b", folder_.path() / "hub/config.json");
  EXPECT_THAT(mistakes("[model]\nname = \"toy\"\npath = \"hub\"\n"),
              testing::AllOf(HasSubstr("no checkpoint at `hub`: config.json is a link to ../blobs/1a2b, which is not"),
                             HasSubstr("copy what the links lead to")));
  EXPECT_THAT(mistakes_of(write("bare.toml", "[model]\nname = \"toy\"\n[task]\nname = \"sums\"\n"), {},
                          ConfigPurpose::kPretrain),
              HasSubstr("no checkpoint is named\n  --> bare.toml"));
  EXPECT_EQ(mistakes("[model]\npath = \"nowhere\"\n", {"model.initialize=random", "model.name=toy"}), "no mistake");
}

}  // namespace drift::config_mistakes_test
