// Which part of a response is its answer.

#include "extraction.h"
#include "rldf_release.h"

#include <gmock/gmock.h>

#include <string>

namespace math_answers::math_extraction_test {
namespace {

using testing::HasSubstr;

/// The answer, or `fault: …`.
std::string extracted(std::string_view response, const Options& options) {
  const Extracted found = extract(response, options);
  EXPECT_NE(found.fault.empty(), found.answer.empty());
  return found.fault.empty() ? found.answer : "fault: " + found.fault;
}

std::string boxed(std::string_view response, Options options = {}) { return extracted(response, options); }

std::string tagged(std::string_view response, Options options = {}) {
  options.where = Where::kTags;
  return extracted(response, options);
}

std::string boxed_by_rldf_release(std::string_view response) {
  const auto answer = rldf_release_boxed_answer(response);
  return answer ? std::string(*answer) : "fault";
}

constexpr Options kLenient{.lenient_boxes = true};
constexpr Options kJoin{.join_boxes = true};
constexpr const char* kUnclosed = "fault: the last box is never closed";
constexpr const char* kNone = "fault: the response has no \\boxed{...}";

// What rldf_release finds, and what we find.
TEST(Boxes, AreReadAsTheTableSays) {
  struct Row {
    const char* response;
    const char* rldf_release;
    const char* ours;
  };
  for (const Row& row :
       {Row{R"(\boxed{5})", "5", "5"}, Row{R"(\boxed {5})", "fault", "5"}, Row{R"(\boxed5)", "fault", "5"},
        Row{R"(\boxed{\frac{1}{2}})", R"(\frac{1}{2})", R"(\frac{1}{2})"},
        Row{R"(\boxed{\{1,2\}})", R"(\{1,2\})", R"(\{1,2\})"},
        Row{R"(\boxed{\left\{ x \right.})", "fault", R"(\left\{ x \right.)"},
        Row{R"(\boxed{5} and \boxed{6)", "fault", kUnclosed}, Row{R"(\boxed{\boxed{5}})", "5", "5"},
        Row{R"(\boxed{a+\boxed{b}})", "b", "a+b"}, Row{R"(\boxed{})", "", "fault: the box is empty"},
        Row{R"(\boxed{1}, \boxed{2})", "2", "2"}, Row{R"(\fbox{5})", "fault", "5"}, Row{R"(\boxed{ 7 })", " 7 ", "7"},
        Row{"no answer", "fault", kNone}}) {
    EXPECT_EQ(boxed_by_rldf_release(row.response), row.rldf_release) << row.response;
    EXPECT_EQ(boxed(row.response), row.ours) << row.response;
  }
}

TEST(Boxes, MayHaveWhiteSpaceBeforeTheBrace) {
  EXPECT_EQ(boxed("\\boxed \t\n {5}"), "5");
  EXPECT_EQ(boxed("\\fbox {5}"), "5");
  EXPECT_EQ(boxed(R"(\boxed of {5})"), kNone);
  EXPECT_EQ(boxed(R"(boxed{5})"), kNone);
}

TEST(Boxes, EscapedBracesAreNoBraces) {
  EXPECT_EQ(boxed(R"(\boxed{\{ x \mid x > 0})"), R"(\{ x \mid x > 0)");
  EXPECT_EQ(boxed(R"(\boxed{x \}})"), R"(x \})");
  EXPECT_EQ(boxed(R"(\boxed\{5\})"), kNone);
  // Two backslashes are a line break, so the brace after them counts.
  EXPECT_EQ(boxed(R"(\boxed{a\\{b}})"), R"(a\\{b})");
  // A box that is written with its backslash doubled, as in JSON, is read.
  EXPECT_EQ(boxed(R"(\\boxed{5})"), "5");
}

TEST(Boxes, OfPlainTextAroundThemDoNotMatter) {
  EXPECT_EQ(boxed(R"(} so {{ \boxed{5} }} {)"), "5");
  EXPECT_EQ(boxed(R"($x = \boxed{5}$, as was to be shown.)"), "5");
}

TEST(Boxes, ALaterOneThatIsNeverClosedVoidsTheAnswerUnlessLenient) {
  const std::string response = R"(\boxed{5} and \boxed{6)";
  EXPECT_EQ(boxed(response), kUnclosed);
  EXPECT_EQ(boxed(response, kLenient), "5");
  EXPECT_EQ(boxed(R"(\boxed{4}, \boxed{5} and \boxed{6 or \boxed{7)", kLenient), "5");
  // One before it is only a slip.
  EXPECT_EQ(boxed(R"(I write it in \boxed{ as asked: \boxed{5})"), "5");
  EXPECT_EQ(boxed(R"(\boxed{5)"), "fault: the box is never closed");
  EXPECT_EQ(boxed(R"(\boxed{5)", kLenient), "fault: the box is never closed");
}

TEST(Boxes, OfNestedOnesTheOutermostIsTheAnswer) {
  EXPECT_EQ(boxed(R"(\boxed{\frac{\boxed{1}}{\fbox {2}}})"), R"(\frac{1}{2})");
  EXPECT_EQ(boxed(R"(\boxed{\boxed{\boxed{5}}})"), "5");
  EXPECT_EQ(boxed(R"(\boxed{1+\boxed 5})"), "1+5");
  EXPECT_EQ(boxed(R"(\boxed{3} then \boxed{\boxed{4}})"), "4");
}

TEST(Boxes, LoseTheSpaceAroundTheAnswerAndOneFullStop) {
  EXPECT_EQ(boxed("\\boxed{\n 5 \t}"), "5");
  EXPECT_EQ(boxed(R"(\boxed{5.})"), "5");
  EXPECT_EQ(boxed(R"(\boxed{5 . })"), "5");
  EXPECT_EQ(boxed(R"(\boxed{5..})"), "5.");
  EXPECT_EQ(boxed(R"(\boxed{5.0})"), "5.0");
  EXPECT_EQ(boxed(R"(\boxed{\left. x \right.})"), R"(\left. x \right.)");  // not a stop
  EXPECT_EQ(boxed(R"(\boxed{.})"), "fault: the box is empty");
}

TEST(Boxes, WithoutBracesHoldANumber) {
  EXPECT_EQ(boxed(R"(so \boxed 5 it is)"), "5");
  EXPECT_EQ(boxed(R"(\boxed -12.5)"), "-12.5");
  EXPECT_EQ(boxed(R"(\boxed +.5)"), "+.5");
  EXPECT_EQ(boxed(R"(\boxed 5.)"), "5");
  EXPECT_EQ(boxed(R"(\boxed x)"), kNone);
  EXPECT_EQ(boxed(R"(\boxed -)"), kNone);
  EXPECT_EQ(boxed(R"(\boxed \frac12)"), kNone);
  EXPECT_EQ(boxed(R"(\fbox 5)"), kNone);
  EXPECT_EQ(boxed(R"(\boxed{3}, that is \boxed 4)"), "4");
}

TEST(Boxes, WithMoreThan512BytesAreNotRead) {
  EXPECT_EQ(boxed("\\boxed{" + std::string(512, '1') + "}"), std::string(512, '1'));
  const Extracted longer = extract("\\boxed{" + std::string(513, '1') + "}", {});
  EXPECT_EQ(longer.status, Status::kUnreadable);
  EXPECT_EQ(longer.fault, "the answer has 513 bytes; at most 512 are read");
  // What is trimmed does not count.
  EXPECT_EQ(boxed("\\boxed{ " + std::string(512, '1') + ". }"), std::string(512, '1'));
}

TEST(Boxes, ThatOnlyASeparatorJoinsAreAListIfAsked) {
  const std::string response = R"(\boxed{1}, \boxed{2})";
  EXPECT_EQ(boxed(response), "2");
  EXPECT_EQ(boxed(response, kJoin), "1, 2");
  EXPECT_EQ(boxed(R"($\boxed{1}$ and $\boxed{2}$)", kJoin), "1, 2");
  EXPECT_EQ(boxed(R"(\boxed{1}; \boxed{2}, and \boxed 3)", kJoin), "1, 2, 3");
  EXPECT_EQ(boxed(R"(\boxed{1} or \boxed{\boxed{2}})", kJoin), "1, 2");
  EXPECT_EQ(boxed(R"(\boxed{1} so \boxed{2})", kJoin), "2");
  EXPECT_EQ(boxed(R"(\boxed{1}           , \boxed{2})", kJoin), "2");
  EXPECT_EQ(boxed(R"(\boxed{1}\boxed{2})", kJoin), "2");
  EXPECT_EQ(boxed(R"(\boxed{0} is not it. \boxed{1} and \boxed{2})", kJoin), "1, 2");
}

TEST(Tags, HoldTheAnswerOrABoxWithIt) {
  EXPECT_EQ(tagged("<answer> 5. </answer>"), "5");
  EXPECT_EQ(tagged("<answer>4</answer> no, <ANSWER>\n5\n</Answer> done"), "5");
  EXPECT_EQ(tagged(R"(<answer>Thus \boxed{5}</answer> \boxed{6})"), "5");
  EXPECT_EQ(tagged(R"(<answer>\boxed{5} \boxed{6</answer>)"), kUnclosed);
  EXPECT_EQ(tagged(R"(<answer>\boxed{5} \boxed{6</answer>)", kLenient), "5");
  EXPECT_EQ(tagged("\\boxed{5}"), "fault: the response has no <answer>");
  EXPECT_EQ(tagged("<answer>4</answer><answer>5"), "fault: the last <answer> is not closed");
  EXPECT_EQ(tagged("<answer> </answer>"), "fault: the <answer> block is empty");
}

TEST(Hashes, TheLineBehindTheLastOnesIsTheAnswer) {
  constexpr Options kHash{.where = Where::kHash};
  EXPECT_EQ(extracted("9 * 2 = 18\n#### 18", kHash), "18");
  EXPECT_EQ(extracted("#### 17\n#### 1,018.\nThat is all.", kHash), "1,018");
  EXPECT_EQ(extracted("####\n\n18\n", kHash), "18");
  EXPECT_EQ(extracted("\\boxed{17} #### so \\boxed{18}", kHash), "18");
  EXPECT_EQ(extracted("18", kHash), "fault: the response has no ####");
  EXPECT_EQ(extracted("#### \n", kHash), "fault: nothing follows the last ####");
  EXPECT_EQ(extracted("#### \\boxed{18", kHash), "fault: the box is never closed");
}

TEST(WholeResponses, AreTheAnswerIfAsked) {
  constexpr Options kWhole{.where = Where::kWholeResponse};
  EXPECT_EQ(extracted(" 5.\n", kWhole), "5");
  EXPECT_EQ(extracted(" \n", kWhole), "fault: the response is empty");
  EXPECT_EQ(extract(std::string(600, 'x'), kWhole).status, Status::kUnreadable);
}

// What a quadratic search would take minutes over is here done before anybody looks.
TEST(Extraction, IsLinearInTheResponse) {
  const auto repeated = [](std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
  };
  constexpr std::size_t many = 1'000'000;
  EXPECT_EQ(boxed(repeated("\\boxed{", many)), "fault: the box is never closed");
  EXPECT_EQ(boxed("\\boxed{5}" + repeated("\\boxed{", many), kLenient), "5");
  EXPECT_EQ(boxed(repeated("\\boxed{", many) + "5" + repeated("}", many)), "5");
  EXPECT_EQ(boxed(repeated("\\boxed{5}, ", many)), "5");
  EXPECT_THAT(boxed(repeated("\\boxed{5}, ", many), kJoin), HasSubstr("at most 512"));
  EXPECT_EQ(boxed(repeated("{", many) + "\\boxed{5}"), "5");
  EXPECT_EQ(boxed(repeated("}", many) + "\\boxed{5}"), "5");
  for (const char* filler : {" ", ".", "-", "\\", "1 ", "\\boxed", "\\boxed ", "\\boxed -", "<answer>", "{ "}) {
    EXPECT_EQ(boxed(repeated(filler, many)), kNone) << filler;
  }
  EXPECT_EQ(tagged(repeated("<answer>", many)), "fault: the last <answer> is not closed");
}

}  // namespace
}  // namespace math_answers::math_extraction_test
