// `drift report` from the outside: the page of one run, and the comparison of several.

#include <core/io/json.h>
#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <string>

namespace drift::report_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Report : public testing::Test {
 protected:
  void sweep() const {
    test::write_file(runs_.path() / "grid.toml",
                     "extends = [\"run.toml\"]\n[train]\nsteps = 2\n[sweep]\nseeds = [1, 2]\n[sweep.grid]\n"
                     "algorithm.masking.k = [1, 2]\n");
    const auto result = runs_.drift("sweep grid.toml --out swept");
    ASSERT_EQ(result.status, 0) << result.output << result.error;
  }
  test::CommandResult report(const std::string& arguments) const { return runs_.drift("report " + arguments); }

  test::TrainingRuns runs_;
};

TEST_F(Report, OfOneRunIsItsOwnPage) {
  ASSERT_EQ(runs_.train("one", "--steps 1").status, 0);
  fs::remove(runs_.run("one") / "report.html");
  const auto result = report("one");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_EQ(result.output, "one/report.html\n");
  EXPECT_TRUE(fs::exists(runs_.run("one") / "report.html"));
  EXPECT_FALSE(fs::exists(runs_.path() / "runs/comparison"));
}

TEST_F(Report, OfASweepHasALineForEveryCell) {
  ASSERT_NO_FATAL_FAILURE(sweep());
  const auto result = report("swept --out paper");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("\nk=1   "));
  EXPECT_THAT(result.output, HasSubstr("\nk=2   "));
  EXPECT_THAT(result.output, HasSubstr("difference: to k=1 in held-out accuracy, in points, seed by seed."));
  EXPECT_THAT(result.output, HasSubstr("\npaper/index.html\n"));
  for (const char* file : {"held_out_accuracy.svg", "reward_by_forwards.svg", "reward_by_forwards.csv", "results.tex",
                           "differences.csv", "runs.csv"})
    EXPECT_TRUE(fs::exists(runs_.path() / "paper" / file)) << file;
  const auto again = report("swept --json --baseline k=2 --measure reward --band interval");
  EXPECT_EQ(again.status, 0) << again.error;
  const nlohmann::json json = parse_json_object(again.output, "standard output");
  EXPECT_EQ(json.at("folder"), "runs/comparison");
  EXPECT_THAT(report("swept").output, HasSubstr("\nruns/comparison-2/index.html\n")) << "the first one stays";
  EXPECT_EQ(json.at("differences").at(0).at("line"), "k=1");
  EXPECT_EQ(json.at("differences").at(0).at("pairs"), 2);
  EXPECT_EQ(json.at("results").at(0).at("runs"), 2);
  EXPECT_GT(json.at("results").at(0).at("forwards_per_run"), 0);
  EXPECT_EQ(json.at("runs").size(), 4u);
}

TEST_F(Report, MistakesAreNamed) {
  ASSERT_EQ(runs_.train("one", "--steps 1").status, 0);
  ASSERT_EQ(runs_.train("two", "--steps 1").status, 0);
  EXPECT_THAT(report("nothing").error, HasSubstr("error: there is no folder nothing"));
  EXPECT_THAT(report("one two").error, HasSubstr("are the same run: equal settings, seed"));
  EXPECT_THAT(report("a=one b=two --baseline c").error,
              testing::AllOf(HasSubstr("no line is called `c`"), HasSubstr("lines: a, b")));
  EXPECT_THAT(report("a=one b=two --measure rewrd").error, HasSubstr("did you mean `reward`?"));
  const auto band = report("a=one b=two --band intervall");
  EXPECT_EQ(band.status, 2);
  EXPECT_THAT(band.error, HasSubstr("did you mean `interval`?"));
  EXPECT_THAT(report("a=one b=two --out one").error, HasSubstr("one is the folder of a run"));
}

}  // namespace
}  // namespace drift::report_test
