// Answers of every shape and in many forms, with the spellings that equal them and answers that do not (answers.txt,
// forms.txt), and pairs that are hard to judge with the verdicts of several graders (pairs.csv).

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

namespace math_answers::math_golden_test {
namespace {

Verdict judged(const std::string& answer, const std::string& truth) {
  return judge("We add them up. Therefore, the answer is $\\boxed{" + answer + "}$.", truth);
}

TEST(Answers, EveryShapeIsThereWithBothKinds) {
  std::set<std::string> shapes;
  for (const test::Answer& answer : test::read_answers("answers.txt")) {
    shapes.insert(answer.shape);
    EXPECT_FALSE(answer.equal.empty()) << answer.truth;
    EXPECT_FALSE(answer.unequal.empty()) << answer.truth;
  }
  EXPECT_EQ(shapes.size(), 45u);
}

TEST(Answers, EqualThemselves) {
  for (const test::Answer& answer : test::read_answers("answers.txt")) {
    const Verdict verdict = judged(answer.truth, answer.truth);
    EXPECT_TRUE(verdict.equal()) << answer.truth << ": " << verdict.reason;
  }
}

TEST(Answers, EqualTheirSpellingsAndNoOthers) {
  for (const char* file : {"answers.txt", "forms.txt"}) {
    for (const test::Answer& answer : test::read_answers(file)) {
      SCOPED_TRACE(file + (": " + answer.shape));
      for (const std::string& spelling : answer.equal) {
        const Verdict verdict = judged(spelling, answer.truth);
        EXPECT_TRUE(verdict.equal()) << spelling << " for " << answer.truth << ": " << verdict.reason;
      }
      for (const std::string& other : answer.unequal) {
        const Verdict verdict = judged(other, answer.truth);
        EXPECT_FALSE(verdict.equal()) << other << " for " << answer.truth << ": " << verdict.reason;
      }
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

}  // namespace
}  // namespace math_answers::math_golden_test
