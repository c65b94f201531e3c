// `drift report` of several runs: statistics against published and computed values, and what is made of folders of
// runs.

#include <core/record/significance.h>
#include <core/sweep/comparison_page.h>
#include <core/sweep/comparison_tables.h>
#include <core/sweep/figures.h>

#include <drift/error.h>

#include <tests/support/support.h>

namespace drift::comparison_test {

namespace fs = std::filesystem;
using namespace testing;

// ---- statistics ----

// "The probable error of a mean" (Student, Biometrika 6, 1908, p. 20): additional hours of sleep of ten patients with
// two drugs. R's t.test(paired = TRUE) of the same data (its data set `sleep`) prints t = -4.0621, df = 9,
// p-value = 0.002833, 95 percent interval -2.4598858 -0.7001142, mean -1.58.
TEST(PairedTest, OfStudentsSleepData) {
  const std::vector<double> first = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
                            second = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  std::map<std::int64_t, double> a, b;
  for (std::size_t i = 0; i < first.size(); ++i) a[static_cast<int>(i)] = first[i], b[static_cast<int>(i)] = second[i];
  const Estimate difference = paired_difference(a, b);
  EXPECT_NEAR(difference.mean, -1.58, 1e-12);
  EXPECT_NEAR(t_test(difference).t, -4.0621, 5e-5);
  EXPECT_NEAR(t_test(difference).p, 0.002833, 5e-7);
  EXPECT_NEAR(difference.mean - student_half_width(difference), -2.4598858, 5e-8);
  EXPECT_NEAR(difference.mean + student_half_width(difference), -0.7001142, 5e-8);
}

TEST(PairedTest, OfTwoPairsIsExact) {
  // One degree of freedom is Cauchy's distribution: t = mean / error = 4 / 2, p = 1 - 2 atan(2) / pi.
  const Estimate two = estimate({2, 6});
  EXPECT_DOUBLE_EQ(t_test(two).t, 2);
  EXPECT_NEAR(t_test(two).p, 1 - 2 * std::atan(2.0) / M_PI, 1e-12);
  EXPECT_NEAR(student_half_width(two), 2 * std::tan(0.475 * M_PI), 1e-9);
}

TEST(PairedTest, NeedsTwoPairsThatDiffer) {
  for (const std::vector<double>& none : {std::vector<double>{}, {3}, {3, 3, 3}, {0.1 + 0.2, 0.3}, {0, 0}})
    EXPECT_TRUE(std::isnan(t_test(estimate(none)).p)) << none.size();
  EXPECT_TRUE(std::isnan(student_half_width(estimate({3}))));
}

TEST(Holm, MultipliesTheSmallestByTheirNumberNeverFallsAndLeavesOutWhatIsUnknown) {
  // 4 x 0.005, 3 x 0.01, 2 x 0.03, then 0.04, which may not be below its predecessor.
  EXPECT_THAT(holm({0.01, 0.04, 0.03, 0.005}), testing::Pointwise(testing::DoubleEq(), {0.03, 0.06, 0.06, 0.02}));
  EXPECT_THAT(holm({0.7, 0.6}), ElementsAre(1, 1));
  EXPECT_THAT(holm({}), IsEmpty());
  const std::vector<double> p = holm({0.02, kUnknown, 0.03});
  EXPECT_DOUBLE_EQ(p[0], 0.04);
  EXPECT_TRUE(std::isnan(p[1]));
  EXPECT_DOUBLE_EQ(p[2], 0.04);
}

// ---- folders of runs ----

struct MadeRun {
  std::string folder;
  int seed = 1;
  std::string rate = "1e-3";
  double accuracy = 0.5;
  bool finished = true;
  int steps = 2;
  std::string more = {};  ///< of its config.toml
};

/// Folders as `drift train` leaves them: four responses a step, each of three forwards and one in the update.
class Runs : public testing::Test {
 protected:
  void make(const MadeRun& run) const {
    const fs::path folder = path() / run.folder;
    test::write_file(folder / "config.toml",
                     "[run]\nname = \"" + run.folder + "\"\nseed = " + std::to_string(run.seed) +
                         "\nthreads = " + std::to_string(run.seed) + "\n[train]\nlearning_rate = " + run.rate +
                         "\ngroup_size = 2\ncheckpoint_every = " + std::to_string(run.seed) + "\n" + run.more);
    std::string metrics = R"({"step": 0, "held_out": {"accuracy": 0.1, "standard_error": 0, "items": 10}})"
                          "\n";
    for (int step = 1; step <= run.steps; ++step) {
      metrics += R"({"step": )" + std::to_string(step) + R"(, "reward": )" + std::to_string(run.accuracy * step) +
                 R"(, "solved": 0.5, "groups": 2, "forwards_per_response": 3, "update_forwards_per_response": 1,)" +
                 R"( "seconds": {"total": 2}, "held_out": {"accuracy": )" + std::to_string(run.accuracy) +
                 R"(, "standard_error": 0.1, "items": 10}})" + "\n";
    }
    test::write_file(folder / "metrics.jsonl", metrics);
    if (run.finished)
      test::write_file(folder / "summary.json", R"({"status": "finished", "seconds": 4, "held_out": {"after": )" +
                                                    std::to_string(run.accuracy) + "}}");
  }

  std::vector<RunLine> lines(std::vector<std::string> arguments) const {
    for (std::string& argument : arguments) {
      const std::size_t name = argument.find('=') + 1;  // 0 where there is none
      argument = argument.substr(0, name) + (path() / argument.substr(name)).string();
    }
    return run_lines(arguments);
  }

  std::vector<std::string> labels(const std::vector<std::string>& arguments) const {
    std::vector<std::string> labels;
    for (const RunLine& line : lines(arguments)) labels.push_back(line.label);
    return labels;
  }

  const fs::path& path() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(Runs, ThatDifferInTheSeedAreOneLine) {
  // Their names, threads and checkpoints differ, too: no number comes of that.
  make({.folder = "b", .seed = 2});
  make({.folder = "a", .seed = 1});
  make({.folder = "c", .seed = 1, .rate = "1e-2"});
  const std::vector<RunLine> found = lines({"c", "b", "a"});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].label, "learning_rate=0.01");
  EXPECT_EQ(found[1].label, "learning_rate=0.001");
  ASSERT_THAT(found[1].runs, SizeIs(2));
  EXPECT_EQ(found[1].runs[0].folder, path() / "a") << "by seed";
}

TEST_F(Runs, OfASweepAreSortedByWhatTheyDifferIn) {
  for (const char* rate : {"1e-3", "2e-4", "0.01"}) make({.folder = "sweep/runs/k" + std::string(rate), .rate = rate});
  EXPECT_THAT(labels({"sweep"}), ElementsAre("learning_rate=2e-4", "learning_rate=0.001", "learning_rate=0.01"));
  EXPECT_THAT(labels({"sweep/runs"}), SizeIs(3)) << "any folder of runs";
  EXPECT_THAT(labels({"sweep", "sweep/runs/k0.01"}), SizeIs(3)) << "a run counts once";
}

TEST_F(Runs, AreCalledByAsFewSettingsAsTellThemApart) {
  make({.folder = "a", .more = "[algorithm]\nname = \"one\"\n[algorithm.loss]\nclip = 0.2\n"});
  make({.folder = "b", .more = "[algorithm]\nname = \"two\"\n[algorithm.loss]\nmargin = 3\n"});
  EXPECT_THAT(labels({"a", "b"}), ElementsAre("one", "two")) << "the settings of the loss follow from the algorithm";
  make({.folder = "c", .rate = "1e-4", .more = "[algorithm]\nname = \"two\"\n[algorithm.loss]\nmargin = 3\n"});
  EXPECT_THAT(labels({"a", "b", "c"}),
              ElementsAre("one, learning_rate=0.001", "two, learning_rate=0.001", "two, learning_rate=1e-4"));
}

TEST_F(Runs, ThatDifferInPartsOfTheirAlgorithmAreCalledByBoth) {
  const std::string one = "[algorithm]\nname = \"one\"\n[algorithm.loss]\nname = \"";
  make({.folder = "a", .more = one + "one\"\n"});
  make({.folder = "b", .more = one + "ratio\"\n"});
  EXPECT_THAT(labels({"a", "b"}), ElementsAre("one, loss one", "one, loss ratio"));
  make({.folder = "c", .more = "[algorithm]\nname = \"two\"\n[algorithm.loss]\nname = \"ratio\"\n"});
  EXPECT_THAT(labels({"a", "c"}), ElementsAre("one", "two")) << "not by a loss that others may share";
}

TEST_F(Runs, OfASweepHaveItsNamesItsOrderAndItsBaseline) {
  const auto run = [](const std::string& key) { return R"({"seed": 1, "folder": "runs/)" + key + "\"}"; };
  test::write_file(path() / "sweep/cells.json",
                   R"({"cells": [{"cell": "easy, zeta", "baseline": "easy, alpha", "runs": [)" + run("1") +
                       R"(]}, {"cell": "easy, alpha", "baseline": "easy, alpha", "runs": [)" + run("2") +
                       R"(]}, {"cell": "hard, zeta", "baseline": "hard, alpha", "runs": [)" + run("3") +
                       R"(]}, {"cell": "hard, alpha", "baseline": "hard, alpha", "runs": [)" + run("4") + "]}]}");
  for (const char* key : {"4", "2", "3", "1"})
    make({.folder = "sweep/runs/" + std::string(key),
          .rate = key,
          .more = "[task]\nname = \"" + std::string(*key > '2' ? "hard" : "easy") + "\"\n"});
  EXPECT_THAT(labels({"sweep"}), ElementsAre("easy, zeta", "easy, alpha", "hard, zeta", "hard, alpha"));
  EXPECT_THAT(labels({"mine=sweep"}), testing::Contains("mine, hard, zeta"));
  const RunComparison found = compare_lines(lines({"sweep"}), {});
  ASSERT_THAT(found.differences, SizeIs(2)) << "each group has its own baseline";
  EXPECT_EQ(found.differences[0].baseline, 1u);
  EXPECT_EQ(found.differences[1].baseline, 3u);
  EXPECT_THAT(difference_table(found).titles[1], "to");
  EXPECT_THAT(comparison_notes(found), Not(testing::Contains(HasSubstr("different problems"))));
  EXPECT_THAT(comparison_notes(compare_lines(lines({"sweep"}), {.baseline = "easy, alpha"})),
              testing::Contains(HasSubstr("different problems (task.name)")));
}

TEST_F(Runs, MayBeGivenNames) {
  make({.folder = "a"});
  make({.folder = "b"});
  EXPECT_THAT(labels({"old=a", "new=b"}), ElementsAre("old", "new"));
  make({.folder = "d=e"});
  EXPECT_EQ(run_lines(std::vector<std::string>{(path() / "d=e").string()}).front().label, "d=e")
      << "a folder's own name";
}

TEST_F(Runs, TheSameSettingsAndSeedTwiceIsAMistake) {
  make({.folder = "a"});
  make({.folder = "b"});
  EXPECT_THAT(test::error_of([&] {
                lines({"a", "b"});
              }),
              AllOf(HasSubstr("are the same run: equal settings, seed 1"), HasSubstr("drift report old=")));
}

TEST_F(Runs, AFolderWithoutOneIsNamed) {
  fs::create_directory(path() / "empty");
  const auto error = [&](const char* folder) { return test::error_of([&] { lines({folder}); }); };
  EXPECT_THAT(error("empty"), HasSubstr("no run has begun in " + (path() / "empty").string()));
  EXPECT_THAT(error("missing"), HasSubstr("there is no folder " + (path() / "missing").string()));
}

TEST_F(Runs, TheSameFileCountsAsOneSettingWhereverARunLies) {
  test::write_file(path() / "data/items.txt", "");
  make({.folder = "a", .seed = 1, .more = "[task]\nfile = \"../data/items.txt\"\n"});
  make({.folder = "deep/b", .seed = 2, .more = "[task]\nfile = \"../../data/items.txt\"\n"});
  EXPECT_THAT(lines({"a", "deep/b"}), SizeIs(1));
}

// ---- what they come to ----

/// Two lines of three seeds: 60, 70, 80 per cent, and 66, 72, 87. The differences are 6, 2, 7.
class Compared : public Runs {
 protected:
  Compared() {
    for (int seed = 1; seed <= 3; ++seed) {
      make({.folder = "base" + std::to_string(seed), .seed = seed, .accuracy = 0.5 + 0.1 * seed});
      make({.folder = "other" + std::to_string(seed),
            .seed = seed,
            .rate = "1e-2",
            .accuracy = std::vector{0.66, 0.72, 0.87}[static_cast<std::size_t>(seed - 1)]});
    }
  }

  std::vector<RunLine> both() const { return lines({"base1", "base2", "base3", "other1", "other2", "other3"}); }
  RunComparison comparison(const ComparisonRequest& request = {}) const { return compare_lines(both(), request); }
};

TEST_F(Compared, DifferencesArePairedAndTested) {
  const RunComparison found = comparison();
  ASSERT_THAT(found.differences, SizeIs(1));
  const LineDifference& one = found.differences.front();
  EXPECT_NEAR(one.mean.mean, 5, 1e-9);
  EXPECT_NEAR(one.mean.error, std::sqrt(14.0 / 2 / 3), 1e-9);  // deviations 1, -3, 2
  EXPECT_NEAR(one.test.t, 5 / std::sqrt(7.0 / 3), 1e-9);
  // Two degrees of freedom: p = 1 - t / sqrt(2 + t^2); 0.975 of it is 4.302653.
  EXPECT_NEAR(one.test.p, 1 - one.test.t / std::sqrt(2 + one.test.t * one.test.t), 1e-12);
  EXPECT_NEAR(one.half_interval, 4.302653 * one.mean.error, 1e-5);
  EXPECT_EQ(one.corrected_p, one.test.p) << "one comparison";
}

TEST_F(Compared, SeedsOfOneSideAloneAreNotInTheDifference) {
  make({.folder = "base4", .seed = 4, .accuracy = 0.9});
  make({.folder = "other4", .seed = 4, .rate = "1e-2", .finished = false});
  const RunComparison found =
      compare_lines(lines({"base1", "base2", "base3", "base4", "other1", "other2", "other3", "other4"}), {});
  EXPECT_EQ(found.differences.front().mean.count, 3);
  const TextTable table = line_table(found);
  EXPECT_EQ(table.rows[0][1], "4");
  EXPECT_EQ(table.rows[1][1], "3/4");
  EXPECT_THAT(comparison_notes(found).back(), HasSubstr("1 of 8 runs is not finished"));
}

TEST_F(Compared, TheBaselineAndTheMeasureCanBeChosen) {
  const RunComparison other = comparison({.baseline = "learning_rate=0.01", .measure = "reward"});
  EXPECT_EQ(other.baseline(), "learning_rate=0.01");
  EXPECT_NEAR(other.differences.front().mean.mean, -0.1, 1e-9) << "of the last step, 2 x accuracy";
  EXPECT_THROW(comparison({.baseline = "learning_rate=0.1"}), Error);
  EXPECT_THROW(comparison({.measure = "held-out"}), Error);
}

TEST_F(Compared, AsTables) {
  const RunComparison found = comparison();
  EXPECT_EQ(
      to_text(line_table(found)),
      "line                 runs  held-out accuracy %         reward    solved %  steps  rollout fwd  update fwd  "
      "forwards/run  time/run\n"
      "learning_rate=0.001     3           70.0 ± 5.8  1.400 ± 0.115  50.0 ± 0.0   2.00         3.00        1.00  "
      "        32.0    4.00 s\n"
      "learning_rate=0.01      3           75.0 ± 6.2  1.500 ± 0.125  50.0 ± 0.0   2.00         3.00        1.00  "
      "        32.0    4.00 s\n");
  EXPECT_EQ(to_text(difference_table(found)),
            "line                pairs  difference  95 % interval     t       p  p (Holm)\n"
            "learning_rate=0.01      3  +5.0 ± 1.5   [-1.6, 11.6]  3.27  0.0820    0.0820\n");
}

TEST_F(Compared, ACorrectedPBelowFivePercentStandsOut) {
  make({.folder = "third1", .seed = 1, .rate = "1", .accuracy = 0.3});  // 30, 40.5, 49: differences near -30
  make({.folder = "third2", .seed = 2, .rate = "1", .accuracy = 0.405});
  make({.folder = "third3", .seed = 3, .rate = "1", .accuracy = 0.49});
  auto all = both();
  all.push_back(lines({"third1", "third2", "third3"}).front());
  const RunComparison found = compare_lines(all, {});
  const auto emphasised = difference_table(found).emphasised;
  EXPECT_THAT(emphasised, ElementsAre(testing::Pair(1u, 6u)));
  EXPECT_DOUBLE_EQ(found.differences[1].corrected_p, 2 * found.differences[1].test.p) << "two were tested";
  EXPECT_THAT(to_html(difference_table(found)), HasSubstr("<td class=\"number\"><b>0.00"));
}

TEST_F(Compared, OneSeedHasNoErrorAndNoTest) {
  const RunComparison found = compare_lines(lines({"base1", "other1"}), {});
  EXPECT_EQ(line_table(found).rows[0][2], "60.0");
  const TextTable table = difference_table(found);
  EXPECT_EQ(table.rows[0][2], "+6.0");
  EXPECT_EQ(table.rows[0].back(), "-");
  EXPECT_THAT(comparison_notes(found), testing::Contains(HasSubstr("p: none")));
}

TEST_F(Compared, CurvesAreMeansOverTheSeedsInABand) {
  const std::vector<Figure> figures = step_figures(both(), Band::kError);
  EXPECT_EQ(figures[0].name, "held_out_accuracy");
  const Chart& chart = figures[0].chart;
  EXPECT_THAT(chart.x, ElementsAre(0, 1, 2));
  const Series& base = chart.series[0];
  EXPECT_NEAR(base.y[2], 70, 1e-9);
  EXPECT_NEAR(base.high[2] - base.y[2], 10 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(base.high[0], base.y[0], 1e-9) << "all seeds begin alike";
  const Chart wide = step_figures(both(), Band::kInterval)[0].chart;
  EXPECT_NEAR(wide.series[0].low[2], 70 - 4.302653 * 10 / std::sqrt(3.0), 1e-4);
  EXPECT_DOUBLE_EQ(wide.series[1].high[2], 100) << "75 + 26.8 per cent cannot be";
}

TEST_F(Compared, CostsAreCountedInForwardsAndSecondsOfTheRunSoFar) {
  const std::vector<Figure> figures = cost_figures(both(), Band::kError);
  std::vector<std::string> names;
  for (const Figure& figure : figures) names.push_back(figure.name);
  EXPECT_THAT(names, ElementsAre("held_out_accuracy_by_forwards", "held_out_accuracy_by_seconds", "reward_by_forwards",
                                 "reward_by_seconds"));
  EXPECT_THAT(figures[0].chart.x, ElementsAre(0, 16, 32)) << "2 groups of 2 responses, 3 + 1 forwards each";
  EXPECT_THAT(figures[1].chart.x, ElementsAre(0, 2, 4));
  EXPECT_EQ(figures[0].chart.x_name, "forwards of the model so far");
}

TEST_F(Compared, LinesOfDifferentCostMeetOnOneAxis) {
  make({.folder = "long", .rate = "1", .accuracy = 0.5, .steps = 40});
  const std::vector<Figure> figures = cost_figures(lines({"base1", "long"}), Band::kError);
  const Chart& reward = figures.back().chart;
  ASSERT_EQ(figures.back().name, "reward_by_seconds");
  EXPECT_EQ(reward.x.back(), 80);
  EXPECT_TRUE(std::isnan(reward.series[0].y.back())) << "a line ends where its runs do";
  EXPECT_TRUE(std::isfinite(reward.series[1].y.back()));
}

TEST_F(Compared, TheDataOfAFigureAreItsPoints) {
  EXPECT_THAT(to_csv(step_figures(lines({"base1", "other1"}), Band::kError)[0].data),
              testing::StartsWith("line,step,forwards,seconds,runs,mean,standard_error,band_low,band_high\n"
                                  "learning_rate=0.001,0,0,0,1,10,,,\n"
                                  "learning_rate=0.001,1,16,2,1,60,,,\n"));
}

TEST_F(Compared, IsWrittenAsAPageAndAsFilesForAPaper) {
  const fs::path out = path() / "out";
  write_comparison(comparison(), out);
  const std::string page = test::read_file(out / "index.html");
  EXPECT_THAT(page, HasSubstr("Differences to learning_rate=0.001"));
  EXPECT_THAT(page, HasSubstr("band: the standard error of the mean over the seeds"));
  EXPECT_THAT(page, HasSubstr("<a href=\"reward.svg\">SVG</a>"));
  EXPECT_THAT(test::read_file(out / "differences.tex"), testing::StartsWith("\\begin{tabular}{lrrrrrr}\n\\hline\n"));
  EXPECT_THAT(test::read_file(out / "differences.tex"), HasSubstr(" & $[-1.6, 11.6]$ & "));
  EXPECT_THAT(test::read_file(out / "differences.csv"),
              HasSubstr("learning_rate=0.01,learning_rate=0.001,held_out_accuracy_percent,3,"));
  EXPECT_THAT(test::read_file(out / "results.csv"), HasSubstr("\nlearning_rate=0.001,3,3,70,"));
  EXPECT_THAT(test::read_file(out / "runs.csv"), HasSubstr("\nlearning_rate=0.001,1," + (path() / "base1").string()));
  for (const Figure& figure : step_figures(both(), Band::kError)) {
    EXPECT_THAT(test::read_file(out / (figure.name + ".svg")), HasSubstr("</svg>\n"));
    EXPECT_EQ(test::read_file(out / (figure.name + ".csv")), to_csv(figure.data));
  }
  // A run's own report is a link away where it is there.
  test::write_file(path() / "base1/report.html", "");
  write_comparison(comparison(), out);
  EXPECT_THAT(test::read_file(out / "index.html"), HasSubstr("<a href=\"../base1/report.html\">"));
}

TEST_F(Compared, IsNotWrittenIntoARun) { EXPECT_THROW(write_comparison(comparison(), path() / "base1"), Error); }

TEST_F(Runs, WithoutASingleMeasureStillHaveCurves) {
  test::write_file(path() / "a/config.toml", "[run]\nseed = 1\n[pretrain]\nlearning_rate = 1e-3\n");
  test::write_file(path() / "b/config.toml", "[run]\nseed = 1\n[pretrain]\nlearning_rate = 1e-4\n");
  for (const char* run : {"a", "b"})
    test::write_file(path() / run / "metrics.jsonl",
                     "{\"step\":1,\"loss\":2.5,\"seconds\":0.2}\n{\"step\":2,\"loss\":2.25,\"seconds\":0.2}\n");
  const RunComparison found = compare_lines(lines({"a", "b"}), {});
  EXPECT_THAT(difference_table(found).rows, IsEmpty());
  write_comparison(found, path() / "out");
  EXPECT_TRUE(fs::exists(path() / "out/loss.svg"));
  EXPECT_FALSE(fs::exists(path() / "out/differences.tex"));
}

// ---- figures as files ----

Chart chart_of(std::size_t lines, const std::string& name) {
  Chart chart{.title = "Reward", .unit = "a < b", .note = "band: error", .x = {1, 2, 3}};
  for (std::size_t line = 0; line < lines; ++line)
    chart.series.push_back({.name = name + std::to_string(line), .y = {1, 2, 3}, .low = {0, 1, 2}, .high = {2, 3, 4}});
  return chart;
}

TEST(SvgFile, HasItsOwnStyleAndNoVariables) {
  const std::string svg = svg_file(chart_of(2, "line & "));
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"408\" height=\""));
  EXPECT_THAT(svg, Not(HasSubstr("var(")));
  EXPECT_THAT(svg, HasSubstr("\n.s1 { color: #c8711b; }\n"));
  EXPECT_THAT(svg, HasSubstr("<path class=\"band s1\""));
  EXPECT_THAT(svg, HasSubstr("line &amp; 1</text>"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b</tspan>"));
  EXPECT_THAT(svg, HasSubstr("<desc>band: error</desc>"));
}

TEST(SvgFile, ItsLegendGrowsWithItsLinesAndCutsWideNames) {
  const auto height = [](const std::string& svg) { return std::stoi(svg.substr(svg.find("height=\"") + 8)); };
  EXPECT_EQ(height(svg_file(chart_of(1, ""))), 224) << "one line needs no legend";
  EXPECT_GT(height(svg_file(chart_of(20, "a name of twenty letters "))), 224 + 9 * 18);
  const std::string wide = svg_file(chart_of(2, std::string(100, 'w')));
  EXPECT_THAT(wide, HasSubstr("w…</text>"));
  EXPECT_THAT(wide, Not(HasSubstr(std::string(70, 'w'))));
}

TEST(SvgFile, MoreLinesThanColoursDifferInTheirStroke) {
  const std::string svg = svg_file(chart_of(17, ""));
  EXPECT_THAT(svg, HasSubstr("<path class=\"line s0 dash\""));
  EXPECT_THAT(svg, HasSubstr("<path class=\"line s0 dots\""));
}

}  // namespace drift::comparison_test
