// Answers of every shape with the spellings that equal them and answers that do not: tests/golden/math_answers.txt,
// judged as they come, in the box of a response.

#include <gmock/gmock.h>
#include <reward.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/math_pairs.h"
#include "tests/support/support.h"

namespace drift {
namespace {

struct Answer {
  std::string shape;
  std::string truth;
  std::vector<std::string> equal;
  std::vector<std::string> unequal;
};

std::vector<Answer> read_answers() {
  std::istringstream lines(test::read_file(test::source_dir() / "tests/golden/math_answers.txt"));
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
      ADD_FAILURE() << "math_answers.txt: a line begins with `" << kind << "`";
    }
  }
  return answers;
}

RewardResult judge(const std::string& answer, const std::string& truth) {
  static const math_reward::MathReward reward{Params(math_reward::MathReward::parameters())};
  TaskItem item;
  item.id = truth;
  item.reference = truth;
  RewardResult result;
  const std::string response = "We add them up. Therefore, the answer is $\\boxed{" + answer + "}$.";
  reward.score({response, &item}, result);
  return result;
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
    const RewardResult result = judge(answer.truth, answer.truth);
    EXPECT_TRUE(result.solved) << answer.truth << ": " << result.reason;
  }
}

TEST(Answers, EqualTheirSpellings) {
  for (const Answer& answer : read_answers()) {
    for (const std::string& spelling : answer.equal) {
      const RewardResult result = judge(spelling, answer.truth);
      EXPECT_TRUE(result.solved) << spelling << " for " << answer.truth << ": " << result.reason;
    }
  }
}

TEST(Answers, DoNotEqualOthers) {
  for (const Answer& answer : read_answers()) {
    for (const std::string& other : answer.unequal) {
      const RewardResult result = judge(other, answer.truth);
      EXPECT_FALSE(result.solved) << other << " for " << answer.truth << ": " << result.reason;
    }
  }
}

TEST(HardPairs, AreJudgedInABoxAsTheSpecificationSays) {
  for (const auto& pair : test::read_math_pairs()) {
    const RewardResult result = judge(pair.prediction, pair.truth);
    EXPECT_EQ(result.solved, pair.verdict.at("equal"))
        << pair.id << ": " << pair.prediction << " for " << pair.truth << ": " << result.reason;
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
    for (const char* answer : row.right) EXPECT_TRUE(judge(answer, row.truth).solved) << answer << " for " << row.truth;
    for (const char* answer : row.wrong)
      EXPECT_FALSE(judge(answer, row.truth).solved) << answer << " for " << row.truth;
  }
}

}  // namespace
}  // namespace drift
