// Configuration mistakes and `drift config show`, from outside.

#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <string>

namespace drift::cli_config_test {
namespace {

using testing::HasSubstr;

class CliConfig : public testing::Test {
 protected:
  test::CommandResult drift(const std::string& arguments) const {
    return test::run_command("cd " + folder_.path().string() + " && " + test::program().string() + " " + arguments);
  }
  void write(const std::string& name, const std::string& content) const {
    test::write_file(folder_.path() / name, content);
  }

  test::TemporaryFolder folder_;
};

TEST_F(CliConfig, AllMistakesAreShownTogetherWithTheirPlaces) {
  write("run.toml", "[trian]\nsteps = 3\n\n[train]\nstpes = 4\n");
  const auto result = drift("train run.toml --steps 0 --set run.seed=-1");
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.error, HasSubstr("error: unknown section [trian]\n  --> run.toml:1:2\n   |\n 1 | [trian]\n   |  "
                                      "^^^^^ did you mean [train]?\n"));
  EXPECT_THAT(result.error, HasSubstr("  --> run.toml:5:1\n   |\n 5 | stpes = 4\n   | ^^^^^ did you mean `steps`?\n"));
  EXPECT_THAT(result.error, HasSubstr("error: `train.steps` must be >= 1\n  --> --steps 0\n              ^\n"));
  EXPECT_THAT(result.error,
              HasSubstr("error: `run.seed` must be >= 0\n  --> --set run.seed=-1\n                     ^^\n"));
  EXPECT_THAT(result.error, HasSubstr("error: no task is named\n  --> run.toml\n"));
}

TEST_F(CliConfig, TheLastSettingOfTheCommandLineWins) {
  write("run.toml", "");
  const auto seed = [&](const std::string& options) { return drift("train run.toml " + options).error; };
  EXPECT_THAT(seed("--seed -1 --set run.seed=-2"), HasSubstr("--> --set run.seed=-2\n"));
  EXPECT_THAT(seed("--set run.seed=-2 --seed -1"), HasSubstr("--> --seed -1\n"));
}

TEST_F(CliConfig, BrokenTomlAndMissingFiles) {
  write("run.toml", "steps = = 3\n");
  const auto broken = drift("config show run.toml");
  EXPECT_EQ(broken.status, 2);
  EXPECT_THAT(broken.error, HasSubstr("error: not valid TOML: "));
  EXPECT_THAT(broken.error, HasSubstr("  --> run.toml:1:"));
  const auto missing = drift("train none.toml");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.error, HasSubstr("error: cannot read `none.toml`"));
}

TEST_F(CliConfig, ANamedPluginThatIsRefusedStopsTheRun) {
  write("libbroken.so", "not a library");
  write("run.toml", "[plugins]\npaths = [\"libbroken.so\"]\n");
  const auto result = drift("train run.toml");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("libbroken.so"));
}

TEST_F(CliConfig, ARunsCheckpointBringsItsOwnConfiguration) {
  write("runs/a/config.toml", "[run]\nsede = 3\n");
  write("runs/a/checkpoints/last/config.json", "{}");
  for (const std::string command : {"eval runs/a/checkpoints/last", "generate runs/a/checkpoints/last/ --prompt x"}) {
    const auto result = drift(command);
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.error, HasSubstr("runs/a/config.toml:2:1"));
  }
}

}  // namespace
}  // namespace drift::cli_config_test
