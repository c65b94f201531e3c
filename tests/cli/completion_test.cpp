// Completion in real shells, and the manual pages in real readers, from an installation: what bash-completion, zsh,
// fish and man find there by themselves.

#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

bool is_there(const std::string& tool) { return test::run_command("command -v " + tool).status == 0; }

/// Runs in the root of the repository, where `drift` is the program under test.
test::CommandResult at_root(const std::string& command) {
  return test::run_command("cd " + test::source_dir().string() +
                           " && export PATH=" + test::program().parent_path().string() + ":$PATH && " + command);
}

class Shells : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    prefix_ = std::make_unique<test::TemporaryFolder>();
    const auto installed = test::run_command("cmake -DCMAKE_INSTALL_PREFIX=" + prefix_->path().string() + " -P " +
                                             (test::build_dir() / "core/cli/cmake_install.cmake").string());
    ASSERT_EQ(installed.status, 0) << installed.output << installed.error;
  }
  static void TearDownTestSuite() { prefix_.reset(); }

  static fs::path share() { return prefix_->path() / "share"; }

  /// Lines without what a shell shows beside the word.
  static Words words_of(const test::CommandResult& result) {
    EXPECT_EQ(result.error, "");
    Words words;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) words.push_back(line.substr(0, line.find('\t')));
    return words;
  }

  static inline std::unique_ptr<test::TemporaryFolder> prefix_;
};

std::string script(const std::string& name) { return (test::source_dir() / "tests/cli/shells" / name).string(); }

class InBash : public Shells {
 protected:
  void SetUp() override {
    if (!fs::exists("/usr/share/bash-completion/bash_completion")) GTEST_SKIP() << "no bash-completion";
  }
  static Words offered(const std::string& line) {
    return words_of(
        at_root("XDG_DATA_DIRS=" + share().string() + " bash --norc " + script("complete.bash") + " '" + line + "'"));
  }
};

class InZsh : public Shells {
 protected:
  void SetUp() override {
    if (!is_there("zsh")) GTEST_SKIP() << "no zsh";
    if (const auto missing = test::missing_terminal(); !missing.empty()) GTEST_SKIP() << missing;
  }
  static Words offered(const std::string& line) {
    return words_of(at_root("FPATH=$(zsh -fc 'print $FPATH'):" + (share() / "zsh/site-functions").string() +
                            " zsh -f " + script("complete.zsh") + " '" + line + "'"));
  }
};

class InFish : public Shells {
 protected:
  void SetUp() override {
    if (!is_there("fish")) GTEST_SKIP() << "no fish";
  }
  static Words offered(const std::string& line) {
    return words_of(at_root("HOME=" + prefix_->path().string() + " XDG_DATA_DIRS=" + share().string() +
                            ":/usr/share fish -c \"complete -C '" + line + "'\""));
  }
};

// ---- bash ----

TEST_F(InBash, OffersCommands) {
  EXPECT_THAT(offered("drift tr"), ElementsAre("train"));
  EXPECT_THAT(offered("drift "), IsSupersetOf({"train", "plugin", "eval", "help"}));
  EXPECT_THAT(offered("drift plugin "), UnorderedElementsAre("list", "info", "check", "docs", "presets"));
  EXPECT_THAT(offered("drift help plugin in"), ElementsAre("info"));
}

TEST_F(InBash, OffersTheOptionsOfTheCommand) {
  EXPECT_THAT(offered("drift train --dt"), ElementsAre("--dtype"));
  EXPECT_THAT(offered("drift train run.toml --"), AllOf(Contains("--dry-run"), Not(Contains("--suite"))));
  EXPECT_THAT(offered("drift eval --su"), ElementsAre("--suite"));
  EXPECT_THAT(offered("drift version "), UnorderedElementsAre("--json", "--help"));
}

TEST_F(InBash, OffersValuesThatTheProgramKnows) {
  EXPECT_THAT(offered("drift train --device "), UnorderedElementsAre("cpu", "cuda"));
  EXPECT_THAT(offered("drift train --device=c"), UnorderedElementsAre("cpu", "cuda"));
  EXPECT_THAT(offered("drift train --shard opt"), ElementsAre("optimizer"));
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
  EXPECT_THAT(offered("drift train READ"), testing::IsEmpty()) << "not a TOML file";
  EXPECT_THAT(offered("drift plugin check READ"), ElementsAre("README.md"));
  EXPECT_THAT(offered("drift train --out do"), ElementsAre("docs"));
}

TEST_F(InBash, CompletesWhatIsTyped) {
  if (!is_there("script")) GTEST_SKIP() << "no `script` to make a terminal with";
  if (const auto missing = test::missing_terminal(); !missing.empty()) GTEST_SKIP() << missing;
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "rc", "source " + (share() / "bash-completion/completions/drift").string() +
                                             "\ndrift() { if [ \"$1\" = completion ]; then command drift \"$@\"; "
                                             "else printf '%s:%s;\\n' RAN \"$*\"; fi; }\n");
  test::write_file(folder.path() / "typed",
                   "drift train --set run.devi\tcu\t\n"
                   "drift tr\tconfigs/quic\t--device=cp\t\n"
                   "drift train --out do\t\n");
  const auto result = at_root("bash " + script("typed.bash") + " " + (folder.path() / "rc").string() + " <" +
                              (folder.path() / "typed").string());
  EXPECT_THAT(result.output, HasSubstr("RAN:train --set run.device=cuda;"));
  EXPECT_THAT(result.output, HasSubstr("RAN:train configs/quickstart.toml --device=cpu;"));
  EXPECT_THAT(result.output, HasSubstr("RAN:train --out docs/;"));
}

// ---- zsh ----

TEST_F(InZsh, OffersCommandsOptionsAndValues) {
  EXPECT_THAT(offered("drift tr"), Contains("train"));
  EXPECT_THAT(offered("drift plugin "), IsSupersetOf({"list", "info", "check"}));
  EXPECT_THAT(offered("drift train --dt"), Contains("--dtype"));
  EXPECT_THAT(offered("drift train --shard opt"), Contains("optimizer"));
  EXPECT_THAT(offered("drift train --device=cu"), Contains("cuda"));
}

TEST_F(InZsh, OffersWhatPluginsBringAndFiles) {
  EXPECT_THAT(offered("drift train --algorithm rl"), Contains("rldf"));
  EXPECT_THAT(offered("drift train --set rollout.temp"), Contains("rollout.temperature"));
  EXPECT_THAT(offered("drift train --set rollout.name=bl"), Contains("block"));
  EXPECT_THAT(offered("drift train configs/qu"), Contains("quickstart.toml"));
  EXPECT_THAT(offered("drift train --out do"), Contains("docs"));
}

// ---- fish ----

TEST_F(InFish, OffersCommandsOptionsAndValues) {
  EXPECT_THAT(offered("drift tr"), ElementsAre("train"));
  EXPECT_THAT(offered("drift plugin "), UnorderedElementsAre("list", "info", "check", "docs", "presets"));
  EXPECT_THAT(offered("drift train --dt"), ElementsAre("--dtype"));
  EXPECT_THAT(offered("drift train --shard opt"), ElementsAre("optimizer"));
  EXPECT_THAT(offered("drift train --device=cu"), ElementsAre("--device=cuda"));
}

TEST_F(InFish, OffersWhatPluginsBringAndFiles) {
  EXPECT_THAT(offered("drift train --algorithm rl"), ElementsAre("rldf"));
  EXPECT_THAT(offered("drift train --set rollout.temp"), ElementsAre("rollout.temperature="));
  EXPECT_THAT(offered("drift train --set rollout.name=bl"), ElementsAre("rollout.name=block"));
  EXPECT_THAT(offered("drift train configs/qu"), ElementsAre("configs/quickstart.toml"));
  EXPECT_THAT(offered("drift train --out do"), ElementsAre("docs/"));
}

// ---- what the program says ----

TEST(Completion, AnUnknownShellAndAnUnknownKeyAreMistakes) {
  const auto shell = at_root("drift completion fihs");
  EXPECT_EQ(shell.status, 2);
  EXPECT_THAT(shell.error, HasSubstr("did you mean `fish`?"));
  const auto key = at_root("drift completion candidates run.devise");
  EXPECT_EQ(key.status, 2);
  EXPECT_THAT(key.error, HasSubstr("did you mean `run.device`?"));
  const auto number = at_root("drift completion candidates run.seed");
  EXPECT_EQ(number.status, 0) << "a key without a list of values";
  EXPECT_EQ(number.output, "");
}

TEST(Completion, EachScriptIsOneThatItsShellCanRead) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    if (!is_there(shell)) continue;
    const auto result = at_root("drift completion " + shell + " | " + shell + " -n");
    EXPECT_EQ(result.status, 0) << shell << result.error;
    EXPECT_EQ(result.error, "") << shell;
  }
}

// ---- manual pages ----

using Manual = Shells;

TEST_F(Manual, HasAPageForEveryCommandWithAllItsOptions) {
  const auto overview = test::read_file(share() / "man/man1/drift.1");
  std::istringstream commands(at_root("drift --help").output);
  int pages = 0;
  for (std::string line; std::getline(commands, line);) {
    if (!line.starts_with("  ")) continue;
    std::istringstream words(line.substr(0, line.find("  ", 2)));
    std::string name, word;
    for (bool is_name = true; is_name && words >> word; is_name = is_name && std::islower(word[0]) != 0)
      if (std::islower(static_cast<unsigned char>(word[0])) != 0) name += (name.empty() ? "" : "-") + word;
    EXPECT_TRUE(fs::exists(share() / "man/man1" / ("drift-" + name + ".1"))) << name;
    ++pages;
  }
  EXPECT_EQ(pages, std::distance(fs::directory_iterator(share() / "man/man1"), {}) - 1) << "and drift.1";
  EXPECT_THAT(overview, HasSubstr("\\fBdrift\\-plugin\\-info\\fR(1)"));
  const auto train = test::read_file(share() / "man/man1/drift-train.1");
  for (const char* part : {".SH SYNOPSIS", "\\fB\\-\\-device\\fR \\fIcpu|cuda\\fR", ".SS Changes to the TOML file",
                           "drift train configs/quickstart.toml \\-\\-seed 2"})
    EXPECT_THAT(train, HasSubstr(part));
}

TEST_F(Manual, IsFoundAndShownByMan) {
  if (!is_there("man")) GTEST_SKIP() << "no man";
  const auto shown =
      at_root("MANPATH=" + (share() / "man").string() + " MANWIDTH=80 LC_ALL=C.UTF-8 man drift-train | col -b");
  EXPECT_THAT(shown.output, HasSubstr("drift-train - train a model with reinforcement learning"));
  EXPECT_THAT(shown.output, HasSubstr("--device cpu|cuda"));
}

TEST_F(Manual, IsWithoutWarnings) {
  if (!is_there("groff") && !is_there("mandoc")) GTEST_SKIP() << "no groff and no mandoc";
  for (const auto& page : fs::directory_iterator(share() / "man/man1")) {
    const std::string file = page.path().string();
    if (is_there("groff")) {
      const auto result = at_root("groff -ww -man -Tutf8 -z " + file);
      EXPECT_EQ(result.error, "") << file;
    }
    if (is_there("mandoc")) {
      const auto result = at_root("mandoc -T lint -W warning " + file);
      EXPECT_EQ(result.output + result.error, "") << file;
    }
  }
}

TEST(ManualCommand, PrintsOnePageOrSaysWhichThereAre) {
  EXPECT_THAT(at_root("drift man").output, HasSubstr(".TH DRIFT 1 "));
  EXPECT_EQ(at_root("drift man plugin-info").output, at_root("drift man drift-plugin-info").output);
  EXPECT_THAT(at_root("SOURCE_DATE_EPOCH=86400 drift man train").output, HasSubstr(".TH DRIFT\\-TRAIN 1 1970-01-02 "));
  const auto unknown = at_root("drift man plugin-inf");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error, HasSubstr("did you mean `drift-plugin-info`?"));
}

}  // namespace
}  // namespace drift
