// Reward `format`: how a response is written.

#include <drift/reward.h>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

namespace drift::format_reward_test {

RewardResult score(const std::string& part, const std::string& response, const std::string& style = "mended") {
  RewardResult result;
  result.reason = "left over from the response before";
  test::create<Reward>("format", "format", {{"part", part}, {"style", style}})->score({response}, result);
  EXPECT_EQ(result.solved, result.value == 1);
  EXPECT_EQ(result.status, result.solved ? RewardStatus::kOk : RewardStatus::kWrong);
  return result;
}

double value(const std::string& part, const std::string& response, const std::string& style = "mended") {
  return score(part, response, style).value;
}

void expect(const std::string& part, const std::string& response, double value, const std::string& reason) {
  const RewardResult result = score(part, response);
  EXPECT_EQ(result.value, value) << response;
  EXPECT_EQ(result.reason, reason) << response;
}

TEST(FormatReward, ABoxIsClosed) {
  for (const char* response : {"so \\boxed{5}.", "\\fbox {5}", "\\boxed{\\{1, 2\\}}", "\\boxed{\\frac{1}{2}}",
                               "\\boxed{1} \\boxed{2}", "\\boxed{a \\boxed{2}", "} \\boxed\n{}"}) {
    expect("boxed", response, 1, "the last \\boxed{} is closed");
  }
  for (const char* response : {"\\boxed{5", "\\boxed{1} and \\boxed{2", "\\boxed{\\frac{1}{2}", "\\boxed{5\\}"}) {
    expect("boxed", response, 0, "the last \\boxed{} is not closed");
  }
  for (const char* response : {"", "5", "{5}", "\\boxed 5", "boxed{5}", "\\boxed"}) {
    expect("boxed", response, 0, "there is no \\boxed{}");
  }
}

TEST(FormatReward, AnswerTagsAreClosed) {
  expect("answer_tags", "<answer>5</answer>", 1, "the last <answer> is closed");
  expect("answer_tags", "<Answer> <answer>\n</ANSWER> so", 1, "the last <answer> is closed");
  expect("answer_tags", "<answer>5</answer><answer>6", 0, "the last <answer> is not closed");
  expect("answer_tags", "5</answer>", 0, "there is no <answer>");
}

TEST(FormatReward, ACodeBlockIsClosed) {
  for (const char* response : {"```python\nx = 1\n```", "Here:\n```Python3 \r\nx = 1\r\n  ```\r\nDone.", "```py\n```",
                               "```\ntext\n```\n```python\n```", "```python\n```\n```\n"}) {
    expect("code_block", response, 1, "the ```python block is closed");
  }
  for (const char* response : {"```python\nx = 1", "```python\n```\n```python\n", "```python\nx = 1 ```\n"}) {
    expect("code_block", response, 0, "the last ```python block is not closed");
  }
  for (const char* response :
       {"", "x = 1", "```\nx = 1\n```", "```cpp\n```", "```\n```python\n```", "see ```python\n```"}) {
    expect("code_block", response, 0, "there is no ```python block");
  }
}

TEST(FormatReward, FirstWordsThatWereGivenCount) {
  TaskItem item;
  item.response_prefix = "Here is the completed code:\n```python\ndef f():\n";
  RewardResult result;
  test::create<Reward>("format", "format", {{"part", "code_block"}})->score({"    return 1\n```\n", &item}, result);
  EXPECT_EQ(result.value, 1);
}

TEST(FormatReward, AResponseMayBeCutOff) {
  const auto reward = test::create<Reward>("format", "format", {{"part", "not_truncated"}});
  RewardResult result;
  reward->score({"so", nullptr, false}, result);
  EXPECT_EQ(result.value, 1);
  EXPECT_EQ(result.reason, "the response ends with an end token");
  reward->score({"so", nullptr, true}, result);
  EXPECT_EQ(result.value, 0);
  EXPECT_EQ(result.reason, "the response is cut off");
  EXPECT_FALSE(result.solved);
}

TEST(FormatReward, OfDriftABoxNeedNotBeClosed) {
  EXPECT_EQ(value("rldf_release_boxed", "\\boxed{5"), 1);
  EXPECT_EQ(value("rldf_release_boxed", "\\boxed {5}"), 0);
}

// Verdicts of Python's re.match with d1's patterns: (response, strict, soft, strict and soft as published).
TEST(FormatReward, OfD1PatternsFitAsInPython) {
  struct Case {
    const char* response;
    int strict, soft, published_strict, published_soft;
  };
  for (const Case& one : {
           Case{"<reasoning>\na\n</reasoning>\n<answer>\n1\n</answer>\n", 1, 1, 1, 0},
           Case{"<reasoning>\na\nb\n</reasoning>\n<answer>\n1\n</answer>\n", 1, 1, 0, 0},
           Case{"<reasoning>\na\n</reasoning>\n<answer>\n1\n2\n</answer>\n", 1, 1, 0, 0},
           Case{"<reasoning>\n\n</reasoning>\n<answer>\n\n</answer>\n\n", 1, 1, 1, 0},
           Case{"<reasoning>\na\n</reasoning>\n<answer>\n1\n</answer>\n\n\n", 0, 1, 0, 0},
           Case{"<reasoning>\na\n</reasoning>\n<answer>\n1\n</answer>", 0, 1, 0, 0},
           Case{"<reasoning>\n</reasoning>\n<answer>\n1\n</answer>\n", 0, 1, 0, 0},
           Case{"<reasoning>a</reasoning> \n <answer>1</answer> so", 0, 1, 0, 1},
           Case{"<reasoning>a</reasoning><answer>1\n</answer>", 0, 1, 0, 0},
           Case{"<reasoning>a\n</reasoning><answer>1</answer>", 0, 1, 0, 0},
           Case{"<reasoning>a</reasoning>b</reasoning><answer>1</answer>", 0, 1, 0, 1},
           Case{"<reasoning>a</reasoning><answer>b</reasoning>\n<answer>1</answer>", 0, 1, 0, 1},
           Case{"<reasoning>a</reasoning><answer>1", 0, 0, 0, 0},
           Case{"<reasoning>a</reasoning> so <answer>1</answer>", 0, 0, 0, 0},
           Case{" <reasoning>a</reasoning><answer>1</answer>", 0, 0, 0, 0},
           Case{"", 0, 0, 0, 0},
       }) {
    EXPECT_EQ(value("d1_strict", one.response), one.strict) << one.response;
    EXPECT_EQ(value("d1_soft", one.response), one.soft) << one.response;
    EXPECT_EQ(value("d1_strict", one.response, "published"), one.published_strict) << one.response;
    EXPECT_EQ(value("d1_soft", one.response, "published"), one.published_soft) << one.response;
  }
}

// Twice what d1's function gives, which is at most 0.5.
TEST(FormatReward, OfD1TagsAreCounted) {
  const std::string whole = "<reasoning>\na\n</reasoning>\n<answer>\n1\n</answer>\n";
  EXPECT_DOUBLE_EQ(value("d1_xml_count", whole), 1);
  EXPECT_NEAR(value("d1_xml_count", whole + "12345"), 2 * (0.5 - 0.010), 1e-12) << "both tags' penalties";
  EXPECT_NEAR(value("d1_xml_count", whole + "\u00E4\u00F6"), 2 * (0.5 - 0.004), 1e-12) << "characters, not bytes";
  EXPECT_NEAR(value("d1_xml_count", "<reasoning>\na\n</reasoning>\n"), 2 * 0.25, 1e-12);
  EXPECT_NEAR(value("d1_xml_count", "<reasoning>\n<reasoning>\n\n</reasoning>\n"), 2 * 0.125, 1e-12) << "not once";
  EXPECT_NEAR(value("d1_xml_count", "\n<answer>\n1"), 2 * (0.125 - 0.011), 1e-12)
      << "not closed: all of it comes after";
  EXPECT_EQ(value("d1_xml_count", whole + std::string(1000, 'x')), 0) << "never below 0";
  EXPECT_EQ(value("d1_xml_count", ""), 0);
}

TEST(FormatReward, OfD1AnIntegerIsDigits) {
  for (const char* response : {"<answer>\n42\n</answer>", "42", "no <answer>1</answer> <answer> 7"}) {
    EXPECT_EQ(value("d1_integer", response), 1) << response;
  }
  for (const char* response : {"<answer>-42</answer>", "<answer>1,000</answer>", "<answer></answer>", "so 42", ""}) {
    EXPECT_EQ(value("d1_integer", response), 0) << response;
  }
}

TEST(FormatReward, OfD1ABoxInTheAnswerIsNeverFoundAsPublished) {
  EXPECT_EQ(value("d1_boxed_in_answer", "<answer>\\boxed{5}</answer>"), 1);
  EXPECT_EQ(value("d1_boxed_in_answer", "<answer>\\boxed{5}</answer>", "published"), 0.75);
  EXPECT_EQ(value("d1_boxed_in_answer", "\\boxed{4} <answer>5</answer> \\boxed{5}"), 0.75);
  EXPECT_EQ(value("d1_boxed_in_answer", "\\boxed{5}"), 0.5);
  EXPECT_EQ(value("d1_boxed_in_answer", "\\boxed{5}", "published"), 0.25);
  EXPECT_EQ(value("d1_boxed_in_answer", ""), 0.25);
}

// Nothing that a model can write breaks a part or takes long: all are linear.
TEST(FormatReward, AnyBytesAreJudged) {
  const std::vector<std::string> parts = {"boxed",   "answer_tags",  "code_block", "rldf_release_boxed", "d1_strict",
                                          "d1_soft", "d1_xml_count", "d1_integer", "d1_boxed_in_answer"};
  const std::vector<std::string> words = {"\\boxed{",          "}",  "{",        "\\",        "<answer>",
                                          "</answer>",         "\n", "```",      "```python", "<reasoning>",
                                          "</reasoning>",      "12", "\xC3\xA4", "\xFF",      " ",
                                          std::string(1, '\0')};
  const RandomStream random(7, "bytes");
  for (const std::string& part : parts) {
    for (const char* style : {"mended", "published"}) {
      const auto reward = test::create<Reward>("format", "format", {{"part", part}, {"style", style}});
      RewardResult result;
      for (std::int64_t i = 0; i < 2000; ++i) {
        std::string response = i % 2 == 0 ? "<reasoning>" : "";
        const std::int64_t length = random.below(24, {.step = i});
        for (std::int64_t j = 1; j <= length; ++j) {
          response += words[static_cast<std::size_t>(random.below(16, {.step = i, .position = j}))];
        }
        reward->score({response}, result);
        EXPECT_TRUE(result.value >= 0 && result.value <= 1) << result.value;
        EXPECT_NE(result.reason, "");
      }
      for (const std::string word :
           {"\\boxed{", "\\boxed   ", "</reasoning><answer>", "```python\n", "<answer>\n", " "}) {
        std::string response = "<reasoning>";
        while (response.size() < 1 << 20) response += word;
        reward->score({response}, result);
        reward->score({response + "\n</answer>\n"}, result);
      }
    }
  }
}

}  // namespace drift::format_reward_test
