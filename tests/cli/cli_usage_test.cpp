// What the program says to a command line: help, mistakes, exit status.

#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <string>

namespace drift {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

test::CommandResult drift(const std::string& arguments) {
  return test::run_command(test::program().string() + " " + arguments);
}

TEST(CliUsage, HelpTeachesWithOneExample) {
  const auto help = drift("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, HasSubstr("usage: drift COMMAND [options]"));
  EXPECT_THAT(help.output, HasSubstr("example: drift train configs/quickstart.toml"));
  for (const char* command : {"train", "pretrain", "eval", "generate", "tokenize", "plugin list", "plugin info",
                              "plugin check", "config show", "doctor", "sdk", "version"}) {
    EXPECT_THAT(help.output, HasSubstr(std::string("\n  ") + command));
    const auto one = drift(std::string(command) + " --help");
    EXPECT_EQ(one.status, 0) << command;
    EXPECT_THAT(one.output, HasSubstr(std::string("\nexample: drift ") + command));
  }
  EXPECT_THAT(drift("plugin --help").output, HasSubstr("usage: drift plugin check FILE"));
}

TEST(CliUsage, WithoutACommandTheHelpIsShown) {
  const auto result = drift("");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.output, HasSubstr("usage: drift COMMAND"));
}

TEST(CliUsage, AnUnknownCommand) {
  const auto result = drift("trian run.toml");
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.error,
            "error: unknown command `trian`\n"
            "  = did you mean `drift train`?\n"
            "  = commands: train, pretrain, sweep, eval, generate, model, data, tokenize, plugin, reward, loss, "
            "config, doctor, sdk, "
            "version    (drift --help)\n");
  EXPECT_THAT(drift("plugin lst").error, HasSubstr("did you mean `drift plugin list`?"));
  EXPECT_THAT(drift("config").error, HasSubstr("`drift config` wants one of: show"));
}

TEST(CliUsage, AnUnknownOption) {
  const auto result = drift("train run.toml --resme");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(
      result.error,
      StartsWith(
          "error: unknown option `--resme` of `drift train`\n  = did you mean `--resume`?\n  = options: --set,"));
  EXPECT_EQ(drift("version --seed 3").status, 2);
}

TEST(CliUsage, MissingAndSuperfluousArguments) {
  EXPECT_THAT(drift("train").error,
              HasSubstr("`drift train` wants CONFIG.toml\n  = for example: drift train configs/quickstart.toml"));
  EXPECT_THAT(drift("train a.toml b.toml").error, HasSubstr("has no use for `b.toml`"));
  EXPECT_THAT(drift("train a.toml --seed").error, HasSubstr("`drift train`: "));
  EXPECT_EQ(drift("train a.toml --seed 1 --seed 2").status, 2);
  EXPECT_THAT(drift("generate c").error, HasSubstr("wants one of --prompt and --token-ids"));
  EXPECT_THAT(drift("generate c --token-ids 1,x").error, HasSubstr("`x` is no token id"));
  EXPECT_THAT(drift("train a.toml --set train.steps").error, HasSubstr("--set wants KEY=VALUE"));
}

TEST(CliUsage, Version) {
  const auto result = drift("version");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, HasSubstr("core ABI 1."));
  EXPECT_THAT(result.output, HasSubstr("LibTorch 2.11.0"));
  EXPECT_EQ(drift("--version").output, result.output);
}

TEST(CliUsage, TheSdkLiesInTheBuildFolderToo) {
  const auto result = drift("sdk --prefix");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_EQ(result.output, std::filesystem::canonical(test::build_dir()).string() + "\n");
  EXPECT_EQ(drift("sdk").status, 2);
}

TEST(CliUsage, AProgramThatWasMovedAwaySaysWhereTheSdkComesFrom) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "bin");
  std::filesystem::copy(test::program(), folder.path() / "bin/drift");
  const auto result = test::run_command((folder.path() / "bin/drift").string() + " sdk --prefix");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("  = cmake --install "));
}

TEST(CliUsage, DoctorSaysWhatWorks) {
  const test::TemporaryFolder folder;
  const auto result = test::run_command("cd " + folder.path().string() + " && " + test::program().string() + " doctor");
  EXPECT_THAT(result.output, HasSubstr("ok       LibTorch  2.11.0, "));
  EXPECT_THAT(result.output, HasSubstr("(made by the first run)"));
  EXPECT_EQ(result.status == 0, result.output.find("problem") == std::string::npos) << result.output;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// Where no namespace may be made, as in many containers, model-written programs cannot be confined.
TEST(CliUsage, DoctorSaysWhyARewardCannotBeUsed) {
  const std::string forbid = "unshare --user --map-root-user sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && ";
  if (test::run_command(forbid + "true'").status != 0) GTEST_SKIP() << "namespaces cannot be limited here";
  const auto result = test::run_command(forbid + test::program().string() + " doctor'");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("note     reward    `code` cannot be used here: "));
  EXPECT_THAT(result.output, HasSubstr("unsafe = true"));
  EXPECT_THAT(result.output, HasSubstr("countdown, format, math, sudoku: each can judge here"));
}

TEST(CliUsage, DoctorNamesARefusedPlugin) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "libbroken.so", "not a library");
  const auto result =
      test::run_command("DRIFT_PLUGIN_PATH=" + folder.path().string() + " " + test::program().string() + " doctor");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("problem  plugin"));
  EXPECT_THAT(result.output, HasSubstr("libbroken.so"));
}

TEST(CliUsage, PluginsAreListedExplainedAndChecked) {
  const auto list = drift("plugin list");
  EXPECT_EQ(list.status, 0) << list.error;
  EXPECT_THAT(list.output, HasSubstr("rldf"));
  const auto info = drift("plugin info rldf");
  EXPECT_EQ(info.status, 0) << info.error;
  EXPECT_THAT(info.output, HasSubstr("preset `paper`"));
  const auto unknown = drift("plugin info rldff");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.error, HasSubstr("`rldff`"));
  const auto check = drift("plugin check " + (test::build_dir() / "lib/drift/plugins/librldf.so").string());
  EXPECT_EQ(check.status, 0) << check.error;
}

TEST(CliUsage, NoColourOutsideATerminal) {
  EXPECT_THAT(drift("trian").error, Not(HasSubstr("\033")));
  EXPECT_THAT(drift("train /nowhere.toml").error, Not(HasSubstr("\033")));
}

TEST(CliUsage, AFullDiskIsAFailure) { EXPECT_EQ(drift("--help >/dev/full").status, 1); }

}  // namespace
}  // namespace drift
