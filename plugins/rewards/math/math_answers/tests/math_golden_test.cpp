// Answers of every shape with the spellings that equal them and answers that do not (answers.txt), and pairs that are
// hard to judge with the verdicts of several graders (pairs.csv).

#include "comparison.h"
#include "files.h"
#include "rldf_release.h"

#include <gmock/gmock.h>
#include <math_answers.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace math_answers {
namespace {

struct Answer {
  std::string shape;
  std::string truth;
  std::vector<std::string> equal;
  std::vector<std::string> unequal;
};

std::vector<Answer> read_answers() {
  std::istringstream lines(test::read_file(test::folder() / "answers.txt"));
  std::vector<Answer> answers;
  std::string shape;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    const std::string kind = line.substr(0, space);
    if (line.empty() || kind == "#") continue;
    const std::string rest = line.substr(space + 1);
    if (kind == "shape") {
      shape = rest;
    } else if (kind == "answer") {
      answers.push_back({shape, rest, {}, {}});
    } else if (kind == "=") {
      answers.back().equal.push_back(rest);
    } else if (kind == "!") {
      answers.back().unequal.push_back(rest);
    } else {
      ADD_FAILURE() << "answers.txt: a line begins with `" << kind << "`";
    }
  }
  return answers;
}

Verdict judged(const std::string& answer, const std::string& truth) {
  return judge("We add them up. Therefore, the answer is $\\boxed{" + answer + "}$.", truth);
}

TEST(Answers, EveryShapeIsThereWithBothKinds) {
  std::set<std::string> shapes;
  for (const Answer& answer : read_answers()) {
    shapes.insert(answer.shape);
    EXPECT_FALSE(answer.equal.empty()) << answer.truth;
    EXPECT_FALSE(answer.unequal.empty()) << answer.truth;
  }
  EXPECT_EQ(shapes.size(), 45u);
}

TEST(Answers, EqualThemselves) {
  for (const Answer& answer : read_answers()) {
    const Verdict verdict = judged(answer.truth, answer.truth);
    EXPECT_TRUE(verdict.equal()) << answer.truth << ": " << verdict.reason;
  }
}

TEST(Answers, EqualTheirSpellings) {
  for (const Answer& answer : read_answers()) {
    for (const std::string& spelling : answer.equal) {
      const Verdict verdict = judged(spelling, answer.truth);
      EXPECT_TRUE(verdict.equal()) << spelling << " for " << answer.truth << ": " << verdict.reason;
    }
  }
}

TEST(Answers, DoNotEqualOthers) {
  for (const Answer& answer : read_answers()) {
    for (const std::string& other : answer.unequal) {
      const Verdict verdict = judged(other, answer.truth);
      EXPECT_FALSE(verdict.equal()) << other << " for " << answer.truth << ": " << verdict.reason;
    }
  }
}

using Row = std::map<std::string, std::string>;

/// Comma-separated values with quotes (RFC 4180); the first record names the columns.
std::vector<Row> read_pairs() {
  const std::string text = test::read_file(test::folder() / "pairs.csv");
  std::vector<std::vector<std::string>> records(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto& field = records.back().back();
    if (text[i] == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      field += text[++i];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == ',' && !quoted) {
      records.back().emplace_back();
    } else if (text[i] == '\n' && !quoted) {
      records.push_back({""});
    } else {
      field += text[i];
    }
  }
  std::vector<Row> rows;
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].size() != records[0].size()) continue;  // behind the last line
    Row& row = rows.emplace_back();
    for (std::size_t column = 0; column < records[0].size(); ++column) row[records[0][column]] = records[i][column];
  }
  return rows;
}

TEST(HardPairs, HaveTheVerdictThatMathematicsGives) {
  const auto rows = read_pairs();
  ASSERT_EQ(rows.size(), 150u);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.at("id") + ": " + row.at("prediction") + " for " + row.at("truth"));
    const bool equal = row.at("equal") == "1";
    EXPECT_EQ(judged(row.at("prediction"), row.at("truth")).equal(), equal);
    const Comparison comparison = compare_answers(row.at("truth"), row.at("prediction"));
    EXPECT_EQ(comparison.equal, equal) << comparison.reason;
    EXPECT_TRUE(comparison.truth_parsed);
  }
}

// Right or wrong.
TEST(HardPairs, HaveTheVerdictsThatWereMeasuredWithRldfRelease) {
  for (const Row& row : read_pairs()) {
    EXPECT_EQ(rldf_release_equal(row.at("prediction"), row.at("truth")), row.at("rldf_release_as_run") == "1")
        << row.at("id") << ": " << row.at("prediction") << " for " << row.at("truth");
  }
}

// Truths that a well-known grader, Math-Verify 0.8.0, takes for something else: what it would pay for, and what is
// right.
TEST(TruthsThatAreEasilyMisread, AreRead) {
  struct Row {
    const char* truth;
    std::vector<const char*> right;
    std::vector<const char*> wrong;
  };
  for (const Row& row :
       {Row{R"(2007 + \frac\pi 2)", {R"(\frac{4014+\pi}{2})"}, {"2", "2007"}},
        Row{R"(\frac \pi4 + 2 - \sqrt2)", {R"(2 - \sqrt{2} + \frac{\pi}{4})"}, {"2"}},
        Row{"2s", {R"(s \cdot 2)"}, {"2"}},
        Row{R"(111, \! 111, \! 111)", {"111111111", "111,111,111"}, {"111", R"(\{111\})"}},
        Row{R"(\frac{7}{5} + \frac{1}{5} i.)", {R"(\frac{7+i}{5})"}, {R"(\frac{1}{5})", "1/5"}},
        Row{R"(\begin{pmatrix} 1 & -1 \\ 1 & \phantom -1 \end{pmatrix})",
            {R"(\begin{pmatrix} 1 & -1 \\ 1 & 1 \end{pmatrix})"},
            {"-1", R"(\begin{pmatrix} 1 & -1 \\ 1 & -1 \end{pmatrix})"}},
        Row{"9:24", {"9:24", R"(9\!:\!24)"}, {R"(\frac{3}{8})", "3/8", "9/24", "9:25"}},
        Row{R"(05\!:\!00)", {"5:00", "05:00"}, {R"(\infty)", "5"}},
        Row{R"(4\!:\!51\!:\!06 \text{ p.m.})",
            {R"(4:51:06 \text{ p.m.})", "4:51:06"},
            {R"(4:51:06 \text{ a.m.})", "4:51", "4/306"}},
        Row{"152A_{11}", {"152A_{11}"}, {"152", "152A_{12}", "153A_{11}"}},
        Row{R"(\tan 15^\circ)", {R"(2-\sqrt{3})"}, {R"(\tan 15)"}}, Row{"101_2", {"101_{2}"}, {"5", "101_3"}},
        Row{R"(\$\dfrac23 \approx \$0.67)", {R"(\frac{2}{3})"}, {"1"}}, Row{"81, 256", {"256, 81"}, {"81"}}}) {
    for (const char* answer : row.right)
      EXPECT_TRUE(judged(answer, row.truth).equal()) << answer << " for " << row.truth;
    for (const char* answer : row.wrong)
      EXPECT_FALSE(judged(answer, row.truth).equal()) << answer << " for " << row.truth;
  }
}

}  // namespace
}  // namespace math_answers
