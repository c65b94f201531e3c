// `drift report` from the outside: the page of one run, and the comparison of several.

#include <core/io/json.h>
#include <tests/support/training_run.h>

namespace drift::report_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class Report : public Test, public TrainingRuns {
 protected:
  void sweep() const {
    write("grid.toml",
          "extends = [\"run.toml\"]\n[train]\nsteps = 2\n[sweep]\nseeds = [1, 2]\n[sweep.grid]\n"
          "algorithm.masking.k = [1, 2]\n");
    ASSERT_THAT(drift("sweep grid.toml --out swept"), prints());
  }
  CommandResult report(const std::string& arguments) const { return drift("report " + arguments); }
};

TEST_F(Report, OfOneRunIsItsOwnPage) {
  ASSERT_EQ(train("one", "--steps 1").status, 0);
  fs::remove(path("one/report.html"));
  const auto result = report("one");
  EXPECT_THAT(result, prints());
  EXPECT_EQ(result.output, "one/report.html\n");
  EXPECT_TRUE(fs::exists(path("one/report.html")));
  EXPECT_FALSE(fs::exists(path("runs/comparison")));
}

TEST_F(Report, OfASweepHasALineForEveryCell) {
  ASSERT_NO_FATAL_FAILURE(sweep());
  EXPECT_THAT(report("swept --out paper"),
              prints("\nk=1   ", "\nk=2   ", "difference: to k=1 in held-out accuracy, in points, seed by seed.",
                     "\npaper/index.html\n"));
  for (const char* file : {"held_out_accuracy.svg", "reward_by_forwards.svg", "reward_by_forwards.csv", "results.tex",
                           "differences.csv", "runs.csv"})
    EXPECT_TRUE(fs::exists(path("paper") / file)) << file;
  const auto again = report("swept --json --baseline k=2 --measure reward --band interval");
  EXPECT_THAT(again, prints());
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
  ASSERT_EQ(train("one", "--steps 1").status, 0);
  ASSERT_EQ(train("two", "--steps 1").status, 0);
  EXPECT_THAT(report("nothing").error, HasSubstr("error: there is no folder nothing"));
  EXPECT_THAT(report("one two").error, HasSubstr("are the same run: equal settings, seed"));
  EXPECT_THAT(report("a=one b=two --baseline c").error,
              AllOf(HasSubstr("no line is called `c`"), HasSubstr("lines: a, b")));
  EXPECT_THAT(report("a=one b=two --measure rewrd").error, HasSubstr("did you mean `reward`?"));
  EXPECT_THAT(report("a=one b=two --band intervall"), mistake("did you mean `interval`?"));
  EXPECT_THAT(report("a=one b=two --out one").error, HasSubstr("one is the folder of a run"));
}

}  // namespace drift::report_test
