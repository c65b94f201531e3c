// The published figures, and the tables that set a checkpoint beside them.

#include <core/eval/suite_tables.h>

#include <drift/error.h>

#include "tests/support/config_folder.h"
#include "tests/support/tasks.h"

namespace drift::suite_tables_test {

using namespace testing;

// ---- the figures of the paper ----

const std::vector<PublishedFigure>& paper() {
  static const auto figures = read_published(test::source_dir() / "configs/eval/published.csv");
  return figures;
}

std::string name_of(const PublishedFigure& figure) {
  return figure.backbone + " " + figure.method + " " + figure.cell.name();
}

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

TEST(PublishedFigures, HoldEveryCellOnce) {
  std::set<std::string> names;
  std::map<PublishedRole, int> roles;
  for (const PublishedFigure& figure : paper()) {
    EXPECT_TRUE(names.insert(name_of(figure)).second) << name_of(figure);
    ++roles[figure.role];
  }
  // 15 cells of 7 and 6 methods and 8 of 5 methods, under two schedules, for two backbones; and their differences.
  EXPECT_EQ(paper().size(), 390u + 60u + 80u + 16u);
  EXPECT_EQ(roles[PublishedRole::kBase], 60 + 16);
  EXPECT_EQ(roles[PublishedRole::kProposed], 60 + 16);
  EXPECT_EQ(roles[PublishedRole::kDifference], 60 + 16);
}

TEST(PublishedFigures, GiveThePrintedDifferencesButOne) {
  std::vector<std::string> others;
  for (const PublishedFigure& printed : paper()) {
    if (printed.role != PublishedRole::kDifference) continue;
    const auto own = figures_of(paper(), printed.backbone);
    const double difference = find_figure(own, PublishedRole::kProposed, printed.cell)->value -
                              find_figure(own, PublishedRole::kBase, printed.cell)->value;
    if (one_decimal(difference) != one_decimal(printed.value))
      others.push_back(name_of(printed) + ": " + one_decimal(printed.value) + " printed, " + one_decimal(difference));
  }
  EXPECT_THAT(others, ElementsAre("Dream Delta vs. Base HumanEval-128-static: 10.4 printed, 10.3"));
}

// The hash is that of the paper's tables as they were typed a second time, from its source, apart from this file.
TEST(PublishedFigures, AreThoseOfThePaper) {
  std::map<std::string, double> figures;
  for (const PublishedFigure& figure : paper()) figures[name_of(figure)] = figure.value;
  std::string all;
  for (const auto& [name, value] : figures) all += name + " " + one_decimal(value) + "\n";
  EXPECT_EQ(test::hash_of(std::vector{all}), 0x6978BA049611C4DBu) << all;
}

TEST(PublishedFigures, MistakesNameTheLine) {
  const test::TemporaryFolder folder;
  const auto error_of = [&](const std::string& content) {
    test::write_file(folder.path() / "figures.csv", content);
    return test::what_of([&] { read_published(folder.path() / "figures.csv"); });
  };
  const std::string titles = "backbone,method,role,task,length,schedule,value\n";
  EXPECT_EQ(error_of("# a comment\n" + titles + "small,\"a, \"\"b\"\"\",base,sums,20,dynamic,+12.5\n"), "no error");
  EXPECT_THAT(error_of(titles + "small,a,best,sums,20,dynamic,1\n"), HasSubstr("figures.csv:2: unknown role `best`"));
  EXPECT_THAT(error_of(titles + "small,a,base,sums,20,dynamic\n"), HasSubstr(":2: 6 cells"));
  EXPECT_THAT(error_of(titles + "small,a,base,sums,20,dynamic,many\n"), HasSubstr("`value` is not a number: `many`"));
  EXPECT_THAT(error_of("backbone,method\n"), HasSubstr("the column `role` is missing"));
}

// ---- the layout ----

class SuiteTables : public testing::Test {
 protected:
  SuiteTables() {
    test::write_file(folder_.path() / "suite.toml", R"([suite]
schedules = ["dynamic", "static"]
lengths = [20, 40]
published = "figures.csv"
[[suite.table]]
name = "Puzzles"
tasks = [{ name = "sums", file = "sums.toml" }, { name = "grids", file = "grids.toml", lengths = [20] }]
[[suite.table]]
name = "Words"
together = true
lengths = [8]
tasks = [{ name = "rhymes", file = "rhymes.toml" }]
)");
    suite_ = read_suite_file(folder_.path() / "suite.toml", {});
    test::write_file(folder_.path() / "figures.csv", R"(backbone,method,role,task,length,schedule,value
Small,Small-Instruct,base,sums,20,dynamic,10.0
Small,Small-Instruct,base,sums,40,dynamic,20.5
Small,Small-Instruct,base,grids,20,dynamic,30.0
Small,theirs,proposed,sums,20,dynamic,50.0
Small,theirs,proposed,sums,40,dynamic,18.5
Small,theirs,proposed,grids,20,dynamic,40.0
Small,Base,base,rhymes,8,static,1.0
Large,theirs,proposed,sums,20,dynamic,99.0
)");
    results_.suite = &suite_;
    results_.name = "ours/last";
    results_.published = figures_of(read_published(folder_.path() / "figures.csv"), "small");
    for (const GridCell& cell : cells_of(suite_))
      results_.cells.push_back(summary(evaluation_cell(suite_, cell), 3, 6));
    results_.cells[0] = summary(results_.cells[0].cell, 2, 4);                // 50.0, as the best of the others
    results_.cells[2] = summary(results_.cells[2].cell, 4, 4, /*wanted=*/8);  // 100.0, but not complete
    results_.cells[7] = summary(results_.cells[7].cell, 0, 0, 4);             // nothing yet
  }

  static CellSummary summary(const EvaluationCell& cell, int solved, int items, int wanted = 0) {
    std::vector<ResponseRecord> records(static_cast<std::size_t>(items));
    for (int i = 0; i < items; ++i) {
      records[static_cast<std::size_t>(i)].id = std::to_string(i);
      records[static_cast<std::size_t>(i)].solved = i < solved;
    }
    return summarise(cell, records, std::max(items, wanted));
  }

  test::TemporaryFolder folder_;
  SuiteFile suite_;
  SuiteResults results_;
};

TEST_F(SuiteTables, HaveARowForEveryMethodAndAColumnForEveryCell) {
  const auto tables = layout_tables(results_);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].title, "Puzzles, dynamic");
  EXPECT_EQ(to_text(tables[0].table, true),
            "                 |     sums      |  grids\n"
            "model            |    20     40  |     20\n"
            "------------------------------------------\n"
            "Small-Instruct   |  10.0   20.5  |   30.0\n"
            "theirs           |  50.0*  18.5  |   40.0*\n"
            "Δ vs. Base       | +40.0   -2.0  |  +10.0\n"
            "------------------------------------------\n"
            "ours/last        |  50.0*  50.0* | ~100.0\n"
            "± standard error |  25.0   20.4  |    0.0\n");
}

TEST_F(SuiteTables, SchedulesMayStandSideBySide) {
  const auto tables = layout_tables(results_);
  EXPECT_EQ(tables[2].title, "Words");
  EXPECT_EQ(to_text(tables[2].table, false),
            "                  | dynamic | static\n"
            "                  | rhymes  | rhymes\n"
            "model             |       8 |      8\n"
            "------------------------------------\n"
            "Base              |         |    1.0\n"
            "------------------------------------\n"
            "ours/last         |    50.0 |\n"
            "+- standard error |    20.4 |\n");
}

TEST_F(SuiteTables, InLatexTheBestIsBold) {
  const auto tables = layout_tables(results_);
  EXPECT_EQ(to_latex(tables[0].table),
            "\\begin{tabular}{l|rr|r}\n\\hline\n"
            " & \\multicolumn{2}{c|}{\\textbf{sums}} & \\multicolumn{1}{c}{\\textbf{grids}} \\\\\n"
            "model & 20 & 40 & 20 \\\\\n\\hline\n"
            "Small-Instruct & $10.0$ & $20.5$ & $30.0$ \\\\\n"
            "theirs & \\textbf{50.0} & $18.5$ & \\textbf{40.0} \\\\\n"
            "$\\Delta$ vs. Base & $+40.0$ & $-2.0$ & $+10.0$ \\\\\n\\hline\n"
            "ours/last & \\textbf{50.0} & \\textbf{50.0} & \\textasciitilde{}100.0 \\\\\n"
            "$\\pm$ standard error & $25.0$ & $20.4$ & $0.0$ \\\\\n"
            "\\hline\n\\end{tabular}\n");
}

TEST_F(SuiteTables, AreWrittenTogetherWithTheTableOfCells) {
  write_suite_tables(results_, folder_.path());
  const std::string text = test::read_file(folder_.path() / "table.txt");
  EXPECT_THAT(text, AllOf(HasSubstr("Puzzles, static\n"), HasSubstr("sums-40-static"), HasSubstr("~ or empty"),
                          HasSubstr("figures.csv, Small.")));
  EXPECT_THAT(test::read_file(folder_.path() / "table.csv"),
              AllOf(HasSubstr("table,schedule,model,sums 20,sums 40,grids 20,rhymes 8\n"),
                    HasSubstr("Puzzles,dynamic,theirs,50.0,18.5,40.0,\n"), HasSubstr("Words,static,Base,,,,1.0\n"),
                    HasSubstr("Puzzles,dynamic,\"ours/last, standard error\",25.0,20.4,0.0,\n")));
  EXPECT_THAT(test::read_file(folder_.path() / "table.tex"), HasSubstr("% Words\n\\begin{tabular}"));
  EXPECT_THAT(test::read_file(folder_.path() / "cells.csv"), HasSubstr("\nsums-20-dynamic,sums,20,dynamic,0.5,0.25,"));
}

TEST_F(SuiteTables, WithoutFiguresThereAreOwnRowsAlone) {
  results_.published = figures_of(paper(), "LLaDA");
  const std::string text = suite_text(results_, true);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("RLDF")), HasSubstr("has no figures of these tasks"), Not(HasSubstr("50.0*"))));
}

// ---- the suite's file ----

TEST_F(SuiteTables, CellsComeScheduleByScheduleAndTaskByTask) {
  std::vector<std::string> names;
  for (const GridCell& cell : cells_of(suite_)) names.push_back(cell.label);
  EXPECT_THAT(names, ElementsAre("sums-20-dynamic", "sums-40-dynamic", "grids-20-dynamic", "rhymes-8-dynamic",
                                 "sums-20-static", "sums-40-static", "grids-20-static", "rhymes-8-static"));
}

using SuiteFiles = test::ConfigFolder;

TEST_F(SuiteFiles, EveryMistakeIsToldAtOnce) {
  const auto file = write("suite.toml", R"([suite]
schedule = ["dynamic"]
lengths = [20, "long"]
published = 3
tasks = [{ name = "a/b", file = "a.toml" }, { name = "c", fil = "c.toml", lengths = [8] }]
)");
  const std::string text = mistakes_in([&] { read_suite_file(file, {}); });
  EXPECT_THAT(text, AllOf(HasSubstr("unknown key `schedule`"), HasSubstr("did you mean `schedules`?"),
                          HasSubstr("`lengths` must be a list of integers"), HasSubstr("`published` must be a text")));
  EXPECT_THAT(text, AllOf(HasSubstr("no lengths for this task"), HasSubstr("must be usable as a file name"),
                          HasSubstr("unknown key `fil` in a task"), HasSubstr("this task has no file")));
}

TEST_F(SuiteFiles, TheSameCellTwiceIsAMistake) {
  const auto file = write("suite.toml", R"([suite]
lengths = [20]
tasks = [{ name = "a", file = "a.toml" }, { name = "a", file = "b.toml" }]
)");
  EXPECT_THAT(mistakes_in([&] { read_suite_file(file, {}); }), HasSubstr("the suite has the cell a-20 twice"));
}

}  // namespace drift::suite_tables_test
