// What a sweep says of its runs: statistics by hand, and the tables and the report made of them.

#include <core/record/estimate.h>
#include <core/report/chart.h>
#include <core/sweep/comparison_page.h>
#include <core/sweep/sweep_results.h>
#include <core/sweep/sweep_table.h>

#include <tests/support/support.h>

namespace drift::sweep_results_test {

using namespace testing;

const double kNaN = std::nan("");

// ---- statistics ----

TEST(Statistics, MeanAndStandardErrorAreThoseOfTheKnownValues) {
  const Estimate three = estimate({2, 4, 9});  // deviations -3, -1, 4: sample variance 26 / 2
  EXPECT_DOUBLE_EQ(three.mean, 5);
  EXPECT_DOUBLE_EQ(three.error, std::sqrt(13.0 / 3));
  EXPECT_EQ(three.count, 3);
  EXPECT_DOUBLE_EQ(estimate({7}).mean, 7);
  EXPECT_TRUE(std::isnan(estimate({7}).error));
  EXPECT_TRUE(std::isnan(estimate({}).mean));
  EXPECT_EQ(estimate({}).count, 0);
  const Estimate two = estimate({1, kNaN, 3});
  EXPECT_DOUBLE_EQ(two.mean, 2);
  EXPECT_DOUBLE_EQ(two.error, 1);
  EXPECT_EQ(two.count, 2);
}

TEST(Statistics, DifferencesArePairedBySeed) {
  // 3 - 1 = 2 and 10 - 4 = 6; seeds 5 and 9 have no partner. The seeds differ by more than the settings do, and the
  // pairs take that out.
  const Estimate difference = paired_difference({{1, 3}, {2, 10}, {5, 100}}, {{1, 1}, {2, 4}, {9, -100}});
  EXPECT_DOUBLE_EQ(difference.mean, 4);
  EXPECT_DOUBLE_EQ(difference.error, 2);
  EXPECT_EQ(difference.count, 2);
}

TEST(Statistics, TheEndOfARunIsItsLastTenth) {
  std::vector<double> values(20, 0.0);
  values[17] = 100;
  values[18] = 1;
  values[19] = 3;
  EXPECT_DOUBLE_EQ(mean_of_last_tenth(values), 2);
  EXPECT_DOUBLE_EQ(mean_of_last_tenth({1, 5}), 5);
  EXPECT_TRUE(std::isnan(mean_of_last_tenth({})));
}

// ---- tables ----

const TextTable kTable = {{"setting", "50% & _more_"}, {false, true}, {{"a, \"b\"", "-1.5 ± 0.2"}, {"x|y\\z", ""}}};

TEST(TextTables, LineUpInATerminalAndQuoteWhatAFileNeeds) {
  EXPECT_EQ(to_text(kTable, true),
            "setting  50% & _more_\n"
            "a, \"b\"     -1.5 ± 0.2\n"
            "x|y\\z\n");
  EXPECT_THAT(to_text(kTable, false), HasSubstr("-1.5 +- 0.2\n"));
  EXPECT_EQ(to_csv(kTable),
            "setting,50% & _more_\n"
            "\"a, \"\"b\"\"\",-1.5 ± 0.2\n"
            "x|y\\z,\n");
  EXPECT_EQ(to_latex(kTable),
            "\\begin{tabular}{lr}\n\\hline\n"
            "setting & 50\\% \\& \\_more\\_ \\\\\n\\hline\n"
            "a, \"b\" & $-1.5 \\pm 0.2$ \\\\\n"
            "x|y\\textbackslash{}z &  \\\\\n"
            "\\hline\n\\end{tabular}\n");
  EXPECT_EQ(to_markdown(kTable),
            "| setting | 50% & _more_ |\n| --- | ---: |\n| a, \"b\" | -1.5 ± 0.2 |\n| x\\|y\\z | |\n");
  EXPECT_THAT(to_html(kTable), HasSubstr("<th class=\"number\">50% &amp; _more_</th>"));
}

// ---- from folders to rows ----

/// Two settings of two values each, three seeds, all of whose runs are written by the test.
class Results : public testing::Test {
 protected:
  Results() {
    plan_.file.name = "trial";
    plan_.file.axes = {{"task", false, {named("easy"), named("hard")}}, {"size.k", true, {named("1"), named("2")}}};
    plan_.file.compared = 1;
    for (std::size_t cell = 0; cell < 4; ++cell) {
      plan_.cells.push_back({{cell / 2, cell % 2}, "cell " + std::to_string(cell)});
      plan_.seeds.emplace_back();
      for (int seed = 1; seed <= 3; ++seed) {
        plan_.seeds.back().push_back({seed, plan_.runs.size()});
        plan_.runs.push_back({"run" + std::to_string(plan_.runs.size()), "", {}, 2});
      }
    }
  }

  static GridValue named(const std::string& name) { return {name, {}, {}}; }

  void finish(std::size_t cell, int seed, double accuracy, const std::string& held_out = "") const {
    const auto run = runs() / ("run" + std::to_string(3 * cell + static_cast<std::size_t>(seed) - 1));
    test::write_file(run / "summary.json", R"({"version": "1", "status": "finished", "seconds": 90, "threads": 2,
      "peak_memory_mib": )" + std::to_string(100 * seed) +
                                               R"(, "held_out": {"after": )" + std::to_string(accuracy) + held_out +
                                               "}}");
    std::string metrics;
    for (int step = 1; step <= 2; ++step)
      metrics += R"({"step": )" + std::to_string(step) + R"(, "reward": )" + std::to_string(0.25 * step * seed) +
                 R"(, "loss": null, "forwards_per_response": 5.5, "seconds": {"total": 1.5}})" + "\n";
    test::write_file(run / "metrics.jsonl", metrics);
    test::write_file(run / "config.toml", "");
  }

  std::filesystem::path runs() const { return folder_.path() / "runs"; }
  SweepResults results() const { return collect_results(plan_, runs()); }

  SweepPlan plan_;
  test::TemporaryFolder folder_;
};

TEST_F(Results, RowsAreMeansOverTheFinishedSeedsWithTheirPairedDifferences) {
  for (int seed = 1; seed <= 3; ++seed) finish(0, seed, 0.5 + 0.1 * seed);  // 60, 70, 80
  finish(1, 1, 0.7);                                                        // +10
  finish(1, 3, 0.84);                                                       // +4
  const SweepResults found = results();
  EXPECT_THAT(found.rows[0].measure.mean, DoubleNear(70, 1e-9));
  EXPECT_THAT(found.rows[0].measure.error, DoubleNear(10 / std::sqrt(3.0), 1e-9));
  EXPECT_TRUE(found.rows[0].is_baseline);
  EXPECT_TRUE(std::isnan(found.rows[0].difference.mean));
  EXPECT_EQ(found.rows[1].finished, 2);
  EXPECT_EQ(found.rows[1].wanted, 3);
  EXPECT_THAT(found.rows[1].difference.mean, DoubleNear(7, 1e-9));
  EXPECT_THAT(found.rows[1].difference.error, DoubleNear(3, 1e-9));
  EXPECT_EQ(found.rows[1].difference.count, 2);
  EXPECT_DOUBLE_EQ(found.rows[1].reward.mean, 1.0);  // step 2 of seeds 1 and 3
  EXPECT_DOUBLE_EQ(found.rows[1].mean.peak_memory_mib, 300);
  EXPECT_DOUBLE_EQ(found.rows[1].mean.seconds_per_step, 1.5);
  EXPECT_TRUE(found.rows[2].is_baseline) << "every group has its own";
  EXPECT_EQ(found.rows[2].finished, 0);
}

TEST_F(Results, TheTableShowsWhatIsKnownAndSaysWhatIsMissing) {
  for (int seed = 1; seed <= 3; ++seed) finish(0, seed, 0.5 + 0.1 * seed);
  finish(1, 2, 0.75);
  const std::string text = to_text(result_table(results()), true);
  EXPECT_THAT(text, StartsWith("task  size.k  runs  held-out accuracy %  difference         reward  s/step  time/run  "
                               "rollout fwd  peak MiB\n"))
      << "unknown: forwards and backwards of the update";
  EXPECT_THAT(text, HasSubstr("easy  1          3           70.0 ± 5.8              1.000 ± 0.289   1.500      1:30"
                              "         5.50       300\n"));
  EXPECT_THAT(text, HasSubstr("easy  2        1/3                 75.0        +5.0          1.000   1.500"))
      << "one seed has no standard error";
  EXPECT_THAT(text, HasSubstr("hard  1        0/3\n"));
  EXPECT_THAT(result_notes(results()).back(), HasSubstr("8 of 12 runs are not finished"));
}

// Differences of 10, 4 and 7 points: t = 7 / sqrt(3), with 2 degrees of freedom p = 1 - t / sqrt(2 + t^2).
TEST_F(Results, DifferencesAreTestedAndCorrectedForTheirNumber) {
  for (int seed = 1; seed <= 3; ++seed) {
    finish(0, seed, 0.5 + 0.1 * seed), finish(2, seed, 0.5 + 0.1 * seed);
    finish(1, seed, 0.5 + 0.1 * seed + std::vector{0.1, 0.04, 0.07}[static_cast<std::size_t>(seed - 1)]);
  }
  const double t = 7 / std::sqrt(3.0), p = 1 - t / std::sqrt(2 + t * t);
  EXPECT_THAT(results().rows[1].corrected_p, DoubleNear(p, 1e-9));
  for (int seed = 1; seed <= 3; ++seed) finish(3, seed, 0.5 + 0.1 * seed + 0.01 * (seed % 2));
  const SweepResults found = results();
  EXPECT_THAT(found.rows[1].corrected_p, DoubleNear(2 * p, 1e-9));
  EXPECT_THAT(to_text(result_table(found)), HasSubstr("p (Holm)"));
  EXPECT_THAT(result_notes(found), testing::Contains(HasSubstr("corrected over the 2 differences of this table")));
}

TEST_F(Results, ARowIsChosenByOtherItemsThanTheTableReports) {
  for (std::size_t cell = 0; cell < 2; ++cell) finish(cell, 1, cell == 0 ? 0.5 : 0.75);
  EXPECT_THAT(result_notes(results()), testing::Contains(HasSubstr("evaluation.validation_items keeps others")));
  for (std::size_t cell = 0; cell < 2; ++cell)
    finish(cell, 1, cell == 0 ? 0.5 : 0.75, R"(, "validation": )" + std::string(cell == 0 ? "0.6" : "0.55"));
  const SweepResults found = results();
  EXPECT_TRUE(found.rows[0].is_chosen);
  EXPECT_FALSE(found.rows[1].is_chosen);
  const std::string table = to_text(result_table(found));
  EXPECT_THAT(table, testing::AllOf(HasSubstr("60.0 best"), HasSubstr("50.0"), HasSubstr("75.0")));
  EXPECT_THAT(result_notes(found), testing::Contains(HasSubstr("accuracy on items that no other number counts")));
}

TEST_F(Results, PairsAreCountedWhereTheyAreFewerThanTheRuns) {
  finish(0, 1, 0.5);
  finish(1, 1, 0.75);
  finish(1, 2, 0.9);
  EXPECT_THAT(to_text(result_table(results()), true), HasSubstr("+25.0 (n=1)"));
}

TEST_F(Results, TheCsvHasEveryNumberInAColumnOfItsOwn) {
  for (int seed = 1; seed <= 2; ++seed) finish(0, seed, 0.25 * seed);
  const std::string text = to_csv(result_numbers(results()));
  EXPECT_THAT(text, StartsWith("task,size.k,runs,seeds,held_out_accuracy_percent,"
                               "held_out_accuracy_percent_standard_error,difference,"));
  EXPECT_THAT(text, HasSubstr("\neasy,1,2,3,37.5,12.5,,,0,"));
  EXPECT_THAT(to_csv(run_numbers(results(), "out/runs")), HasSubstr("\neasy,1,1,out/runs/run0,finished,,2,2,0.25,"));
}

TEST_F(Results, TheMeasureCanBeTheTrainingReward) {
  plan_.file.measure = kSweepMeasures[1];
  for (std::size_t cell = 0; cell < 2; ++cell) finish(cell, 1, 0.5);
  const std::string text = to_text(result_table(results()), true);
  EXPECT_THAT(text, HasSubstr("runs  reward  difference  s/step"));
  EXPECT_THAT(text, HasSubstr("0.500       0.000"));
}

TEST_F(Results, ABrokenFolderIsAFailedRunAndNoObstacle) {
  finish(0, 1, 0.5);
  test::write_file(runs() / "run1/config.toml", "");
  test::write_file(runs() / "run2/summary.json", "{");
  const SweepResults found = results();
  EXPECT_EQ(found.records[0].status, RunStatus::kFinished);
  EXPECT_EQ(found.records[1].status, RunStatus::kPartial);
  EXPECT_EQ(found.records[2].status, RunStatus::kFailed);
  EXPECT_EQ(found.records[3].status, RunStatus::kNew);
  EXPECT_THAT(found.records[2].problem, HasSubstr("summary.json is not a JSON object: line 1"));
}

TEST_F(Results, ARunWithADeeplyNestedFileFailed) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  finish(0, 1, 0.5);
  finish(0, 2, 0.5);
  test::write_file(runs() / "run0/summary.json", R"({"status": "finished", "x": )" + deep + "}");
  test::write_file(runs() / "run1/plugins.json", R"([{"name": )" + deep + "}]");
  const SweepResults found = results();
  EXPECT_THAT(found.records[0].problem, HasSubstr("summary.json is nested deeper than 64 levels"));
  EXPECT_THAT(found.records[1].problem, HasSubstr("plugins.json is nested deeper than 64 levels"));
}

// ---- the report ----

TEST_F(Results, TheReportHasAPictureAMeasureForEveryGroupAndALineAValue) {
  for (std::size_t cell = 0; cell < 4; ++cell) {
    for (int seed = 1; seed <= 3; ++seed) finish(cell, seed, 0.5);
  }
  test::write_file(runs() / "run11/report.html", "");
  const std::string page = sweep_report(results(), folder_.path());
  EXPECT_THAT(page, HasSubstr("<h1>trial</h1>"));
  EXPECT_THAT(page, HasSubstr("<h2>easy <small>"));
  EXPECT_THAT(page, HasSubstr("<h2>hard <small>"));
  EXPECT_THAT(page, HasSubstr("<figcaption><b>Reward</b>"));
  EXPECT_THAT(page, HasSubstr("</i>k=2</span>"));
  EXPECT_THAT(page, HasSubstr("class=\"band s1\""));
  EXPECT_THAT(page, Not(HasSubstr("<b>Loss</b>"))) << "all null";
  EXPECT_THAT(page, HasSubstr("<a href=\"runs/run11/report.html\">"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(SweepChart, ABandIsOneShapeFromTheHighestToTheLowestAndBack) {
  const std::string svg =
      svg_chart({.title = "t",
                 .x = {0, 1},
                 .series = {{.name = "a", .y = {5, 5}, .low = {0, 0}, .high = {10, 10}, .colour = 3}},
                 .minimum = 0,
                 .maximum = 10});
  EXPECT_THAT(svg, HasSubstr("<path class=\"band s3\" d=\"M50.0 8.0L390.0 8.0L390.0 162.0L50.0 162.0Z\"/>"));
  EXPECT_THAT(svg, HasSubstr("<path class=\"line s3\" d=\"M50.0 85.0h0L390.0 85.0\"/>"));
}

}  // namespace drift::sweep_results_test
