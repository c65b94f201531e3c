// tests/third_party as its authors have it: with an installed Drift, and no trace of the tree that it was built from.

#include <tests/support/support.h>
#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>

namespace drift {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

/// The fenced block of a page.
std::string commands_on(const std::string& page) {
  const auto begin = page.find("```\n") + 4;
  return page.substr(begin, page.find("```\n", begin) - begin);
}

/// A command that sees the machine without this tree and its build.
std::string without_the_tree(const std::string& command) {
  std::string hidden;
  for (const fs::path& folder : {test::source_dir(), test::build_dir()}) {
    if (folder.string().find(test::source_dir().string() + "/") != 0) hidden += " --tmpfs " + folder.string();
  }
  return "bwrap --dev-bind / /" + hidden + " -- " + command;
}

TEST(ThirdParty, BuildsChecksTrainsAndEvaluatesWithTheInstalledSdkAlone) {
  const test::TemporaryFolder folder;
  const std::string source = test::source_dir().string();
  if (const auto tried = test::run_command(without_the_tree("test ! -e " + source + "/CMakeLists.txt"));
      tried.status != 0)
    GTEST_SKIP() << "the tree cannot be hidden on this machine: " << tried.error;
  const fs::path prefix = folder.path() / "drift", project = folder.path() / "lab";
  const auto installed = test::run_command(std::string(std::getenv("DRIFT_CMAKE")) + " --install " +
                                           test::build_dir().string() + " --prefix " + prefix.string());
  ASSERT_EQ(installed.status, 0) << installed.error;
  fs::copy(test::source_dir() / "tests/third_party", project, fs::copy_options::recursive);
  test::write_file(folder.path() / "commands.sh", "export PATH=" + (prefix / "bin").string() + ":$PATH\ncd " +
                                                      project.string() + "\n" +
                                                      commands_on(test::read_file(project / "README.md")));

  const auto result =
      test::run_command(without_the_tree("bash -e -o pipefail " + (folder.path() / "commands.sh").string()));
  ASSERT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("100% tests passed"), HasSubstr("## Algorithm `lab`"), HasSubstr("## Rollout `lab`"),
                    HasSubstr("## Reward `reverse`"), HasSubstr("solved")));

  const auto metrics = test::metrics_of(project / "runs/lab");
  ASSERT_EQ(metrics.size(), 41u);
  EXPECT_GT(metrics.back().at("held_out").at("accuracy").get<double>(), 0.5) << "it can reverse";
  const auto plugins = nlohmann::json::parse(test::read_file(project / "runs/lab/plugins.json"));
  ASSERT_EQ(plugins.size(), 1u) << "no component of Drift's own";
  EXPECT_EQ(plugins[0].at("name"), "lab");
  EXPECT_EQ(plugins[0].at("version"), "2.1.0");
  EXPECT_EQ(plugins[0].at("licence"), "MIT");
}

}  // namespace
}  // namespace drift
