// The tutorial of docs/sdk.md, from its first command to its last, exactly as the page prints them.

#include <tests/support/support.h>
#include <tests/support/training_run.h>

namespace drift::tutorial_test {

namespace fs = std::filesystem;
using namespace testing;

/// The fenced blocks between two headings of a page, one after the other.
std::string commands_between(const std::string& page, const std::string& from, const std::string& to) {
  std::istringstream lines(page);
  std::string commands;
  bool inside = false, fenced = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == from) inside = true;
    if (line == to) inside = false;
    if (inside && line == "```") {
      fenced = !fenced;
    } else if (fenced) {
      commands += line + "\n";
    }
  }
  return commands;
}

TEST(Tutorial, LeadsToARunWithALossOfOnesOwn) {
  if (!fs::equivalent(test::build_dir(), test::source_dir() / "build/release"))
    GTEST_SKIP() << "the page's commands build build/release, this is " << test::build_dir();
  const test::TemporaryFolder home;
  const std::string commands = commands_between(test::read_file(test::source_dir() / "docs/sdk.md"),
                                                "## A loss in fifteen minutes", "## Kinds and languages");
  ASSERT_THAT(commands, AllOf(HasSubstr("scripts/setup"), HasSubstr("drift sweep"))) << "the whole of it";
  test::write_file(home.path() / "tutorial.sh", commands);

  // A home of its own, with the LibTorch that was fetched into the real one.
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const std::string fetched = cache != nullptr ? cache : std::string(std::getenv("HOME")) + "/.cache";
  const auto result = test::run_command("cd " + test::source_dir().string() + " && XDG_CACHE_HOME=" + fetched +
                                        " HOME=" + home.path().string() + " bash -e -o pipefail " +
                                        (home.path() / "tutorial.sh").string());
  ASSERT_EQ(result.status, 0) << result.output << result.error;

  const fs::path project = home.path() / "research/my_loss";
  EXPECT_THAT(result.output, AllOf(HasSubstr("my_loss_rules"), HasSubstr("100% tests passed"), HasSubstr("mine")));
  EXPECT_EQ(test::metrics_of(project / "runs/my_loss").size(), 21u);
  EXPECT_EQ(test::metrics_of(project / "runs/bounded").size(), 21u);
  EXPECT_THAT(test::read_file(project / "runs/bounded/config.toml"), testing::ContainsRegex("bound += 0.5"));
}

}  // namespace drift::tutorial_test
