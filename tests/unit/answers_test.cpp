// Where a response holds its answer: the last box, the last <answer> block.

#include "tests/support/support.h"

#include <drift/answers.h>

namespace drift::answers_test {

/// "-": no mark; "content": closed; "content…": the last one is not; "…": and none is.
std::string told(const MarkedAnswer& answer) {
  if (!answer.opened) return answer.closed || answer.content ? "contradiction" : "-";
  return std::string(answer.content.value_or("")) + (answer.closed ? "" : "…");
}

std::string box(std::string_view response) { return told(last_box(response)); }
std::string block(std::string_view response) { return told(last_answer_block(response)); }

TEST(Answers, TheLastBoxIsFound) {
  EXPECT_EQ(box("\\boxed{1} and \\fbox{2}."), "2");
  EXPECT_EQ(box("\\boxed \n{5}"), "5");
  EXPECT_EQ(box("\\boxed{}"), "");
  EXPECT_EQ(box("\\boxed{\\frac{1}{2}}"), "\\frac{1}{2}");
  EXPECT_EQ(box("} {\\boxed{5}"), "5") << "other braces need not match";
  for (const char* none : {"", "5", "{5}", "\\boxed 5", "boxed{5}", "\\boxed", "\\boxed\\{5\\}"}) {
    EXPECT_EQ(box(none), "-") << none;
  }
}

TEST(Answers, OfNestedBoxesTheOutermostCounts) {
  EXPECT_EQ(box("\\boxed{a\\boxed{2}}"), "a\\boxed{2}");
  EXPECT_EQ(box("\\boxed{a \\boxed{2}"), "2") << "as far as it is closed";
}

TEST(Answers, ABoxThatIsOpenIsTold) {
  EXPECT_EQ(box("\\boxed{5"), "…");
  EXPECT_EQ(box("\\boxed{1} and \\boxed{2"), "1…");
  EXPECT_EQ(box("\\boxed{5\\}"), "…") << "a brace behind a backslash does not close it";
}

TEST(Answers, BoxesAreFoundInLinearTime) {
  for (const char* piece : {"\\boxed{", "{", "}", "\\boxed{}", "\\boxed   "}) {
    std::string response;
    while (response.size() < 1 << 20) response += piece;
    EXPECT_EQ(last_box(response).content.value_or(""), "");
  }
}

TEST(Answers, TheLastBlockIsFound) {
  EXPECT_EQ(block("<answer>1</answer> or <answer>\n2</answer>."), "\n2");
  EXPECT_EQ(block("<Answer>5</ANSWER>"), "5");
  EXPECT_EQ(block("<answer>1<answer>2</answer>3</answer>"), "2");
  EXPECT_EQ(block("<answer></answer>"), "");
  EXPECT_EQ(block("<answer>1</answer><answer>2, so"), "2, so…") << "up to the end";
  EXPECT_EQ(block("5</answer>"), "-");
  EXPECT_EQ(block(""), "-");
}

}  // namespace drift::answers_test
