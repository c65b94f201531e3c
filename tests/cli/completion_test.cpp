// Completion in a real bash, from an installation: what bash-completion finds there by itself.

#include <tests/support/program.h>

namespace drift::completion_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

bool is_there(const std::string& tool) { return run_command("command -v " + tool).status == 0; }

/// Runs in the root of the repository, where `drift` is the program under test.
CommandResult at_root(const std::string& command) {
  return run_command("cd " + source_dir().string() + " && export PATH=" + program().parent_path().string() +
                     ":$PATH && " + command);
}

class InBash : public Test {
 protected:
  static void SetUpTestSuite() {
    prefix_ = std::make_unique<ProgramFolder>();
    ASSERT_THAT(run_command("cmake -DCMAKE_INSTALL_PREFIX=" + prefix_->path().string() + " -P " +
                            (build_dir() / "core/cli/cmake_install.cmake").string()),
                prints());
  }
  static void TearDownTestSuite() { prefix_.reset(); }

  static fs::path share() { return prefix_->path("share"); }

  void SetUp() override {
    if (!fs::exists("/usr/share/bash-completion/bash_completion")) GTEST_SKIP() << "no bash-completion";
  }
  static std::string script(const std::string& name) { return (source_dir() / "tests/cli/shells" / name).string(); }
  static Words offered(const std::string& line) {
    const auto result =
        at_root("XDG_DATA_DIRS=" + share().string() + " bash --norc " + script("complete.bash") + " '" + line + "'");
    EXPECT_EQ(result.error, "");
    Words words;
    std::istringstream lines(result.output);
    for (std::string word; std::getline(lines, word);) words.push_back(word);
    return words;
  }

  static inline std::unique_ptr<ProgramFolder> prefix_;
};

TEST_F(InBash, OffersCommands) {
  EXPECT_THAT(offered("drift tr"), ElementsAre("train"));
  EXPECT_THAT(offered("drift "), IsSupersetOf({"train", "plugin", "eval", "help"}));
  EXPECT_THAT(offered("drift plugin "), UnorderedElementsAre("list", "info", "check"));
  EXPECT_THAT(offered("drift help plugin in"), ElementsAre("info"));
}

TEST_F(InBash, OffersTheOptionsOfTheCommand) {
  EXPECT_THAT(offered("drift train --dt"), ElementsAre("--dtype"));
  EXPECT_THAT(offered("drift train run.toml --"), AllOf(Contains("--dry-run"), Not(Contains("--suite"))));
  EXPECT_THAT(offered("drift eval --su"), ElementsAre("--suite"));
  EXPECT_THAT(offered("drift doctor "), UnorderedElementsAre("--json", "--help"));
}

TEST_F(InBash, OffersValuesThatTheProgramKnows) {
  EXPECT_THAT(offered("drift train --device "), UnorderedElementsAre("cpu", "cuda"));
  EXPECT_THAT(offered("drift train --device=c"), UnorderedElementsAre("cpu", "cuda"));
  EXPECT_THAT(offered("drift config show --for pre"), ElementsAre("pretrain"));
  EXPECT_THAT(offered("drift config docs algorithm.l"), ElementsAre("algorithm.loss"));
}

TEST_F(InBash, OffersNamesThatPluginsBring) {
  EXPECT_THAT(offered("drift train --algorithm "), IsSupersetOf({"rldf", "d1", "tracerl"}));
  EXPECT_THAT(offered("drift train --model lla"), Contains("llada"));
  EXPECT_THAT(offered("drift loss rl"), ElementsAre("rldf"));
  EXPECT_THAT(offered("drift plugin info sudoku_"), ElementsAre("sudoku_task"));
  EXPECT_THAT(offered("drift fidelity run.toml --algorithms d1,rl"), ElementsAre("d1,rldf"));
}

TEST_F(InBash, OffersKeysAndTheirValuesAfterSet) {
  EXPECT_THAT(offered("drift train --set train.lear"), ElementsAre("train.learning_rate="));
  EXPECT_THAT(offered("drift train --set rollout.temp"), ElementsAre("rollout.temperature="));
  // bash takes what follows the = for the word.
  EXPECT_THAT(offered("drift train --set run.device=cu"), ElementsAre("cuda"));
  EXPECT_THAT(offered("drift train --set rollout.name=bl"), ElementsAre("block"));
}

TEST_F(InBash, OffersFilesAndFolders) {
  EXPECT_THAT(offered("drift train configs/qu"), ElementsAre("configs/quickstart.toml"));
  EXPECT_THAT(offered("drift train READ"), IsEmpty()) << "not a TOML file";
  EXPECT_THAT(offered("drift plugin check READ"), ElementsAre("README.md"));
  EXPECT_THAT(offered("drift train --out do"), ElementsAre("docs"));
}

TEST_F(InBash, CompletesWhatIsTyped) {
  if (!is_there("script")) GTEST_SKIP() << "no `script` to make a terminal with";
  if (const auto missing = missing_terminal(); !missing.empty()) GTEST_SKIP() << missing;
  const ProgramFolder folder;
  folder.write("rc", "source " + (share() / "bash-completion/completions/drift").string() +
                         "\ndrift() { printf '%s:%s;\\n' RAN \"$*\"; }\n");
  folder.write("typed",
               "drift train --set run.devi\tcu\t\n"
               "drift tr\tconfigs/quic\t--device=cp\t\n"
               "drift train --out do\t\n");
  const auto result =
      at_root("bash " + script("typed.bash") + " " + folder.path("rc").string() + " <" + folder.path("typed").string());
  EXPECT_THAT(result.output, HasSubstr("RAN:train --set run.device=cuda;"));
  EXPECT_THAT(result.output, HasSubstr("RAN:train configs/quickstart.toml --device=cpu;"));
  EXPECT_THAT(result.output, HasSubstr("RAN:train --out docs/;"));
}

TEST(Completion, IsAScriptThatBashCanReadAndNoListedCommand) {
  EXPECT_THAT(at_root("drift completion | bash -n"), warns(IsEmpty()));
  EXPECT_THAT(at_root("drift --help").output, Not(HasSubstr("completion")));
  EXPECT_THAT(at_root("drift completion --help").output, HasSubstr("usage: drift completion"));
}

}  // namespace drift::completion_test
