// Configuration mistakes and `drift config show`, from outside.

#include <tests/support/program.h>

namespace drift::cli_config_test {

using namespace test;
using namespace testing;

class CliConfig : public Test, public ProgramFolder {};

TEST_F(CliConfig, AllMistakesAreShownTogetherWithTheirPlaces) {
  write("run.toml", "[trian]\nsteps = 3\n\n[train]\nstpes = 4\n");
  EXPECT_THAT(drift("train run.toml --steps 0 --set run.seed=-1"),
              mistake("error: unknown section [trian]\n  --> run.toml:1:2\n   |\n 1 | [trian]\n   |  "
                      "^^^^^ did you mean [train]?\n",
                      "  --> run.toml:5:1\n   |\n 5 | stpes = 4\n   | ^^^^^ did you mean `steps`?\n",
                      "error: `train.steps` must be >= 1\n  --> --steps 0\n              ^\n",
                      "error: `run.seed` must be >= 0\n  --> --set run.seed=-1\n                     ^^\n",
                      "error: no task is named\n  --> run.toml\n"));
}

TEST_F(CliConfig, TheLastSettingOfTheCommandLineWins) {
  write("run.toml", "");
  const auto seed = [&](const std::string& options) { return drift("train run.toml " + options).error; };
  EXPECT_THAT(seed("--seed -1 --set run.seed=-2"), HasSubstr("--> --set run.seed=-2\n"));
  EXPECT_THAT(seed("--set run.seed=-2 --seed -1"), HasSubstr("--> --seed -1\n"));
}

TEST_F(CliConfig, BrokenTomlAndMissingFiles) {
  write("run.toml", "steps = = 3\n");
  EXPECT_THAT(drift("config show run.toml"), mistake("error: not valid TOML: ", "  --> run.toml:1:"));
  EXPECT_THAT(drift("train none.toml"), mistake("error: cannot read `none.toml`"));
}

TEST_F(CliConfig, ANamedPluginThatIsRefusedStopsTheRun) {
  write("libbroken.so", "not a library");
  write("run.toml", "[plugins]\npaths = [\"libbroken.so\"]\n");
  EXPECT_THAT(drift("train run.toml"), fails("libbroken.so"));
}

TEST_F(CliConfig, ARunsCheckpointBringsItsOwnConfiguration) {
  write("runs/a/config.toml", "[run]\nsede = 3\n");
  write("runs/a/checkpoints/last/config.json", "{}");
  for (const std::string command : {"eval runs/a/checkpoints/last", "generate runs/a/checkpoints/last/ --prompt x"})
    EXPECT_THAT(drift(command), mistake("runs/a/config.toml:2:1"));
}

}  // namespace drift::cli_config_test
