// compare_answers: its options, what it reports, and how it decides. Answers of every shape, with their spellings, are
// in answers.txt.

#include "comparison.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace math_answers::math_equivalence_test {
namespace {

using testing::HasSubstr;

bool equal(const std::string& truth, const std::string& prediction, const Options& options = {}) {
  return compare_answers(truth, prediction, options).equal;
}

std::string reason(const std::string& truth, const std::string& prediction) {
  return compare_answers(truth, prediction).reason;
}

TEST(MathEquivalence, SaysHowItDecided) {
  EXPECT_EQ(reason("5", "10/2"), "equal as rational numbers");
  EXPECT_EQ(reason("\\sqrt{12}", "2\\sqrt{3}"), "equal as exact numbers");
  EXPECT_EQ(reason("\\sin 77^\\circ", "\\cos 13^\\circ"), "equal numerically, to 900 bits");
  EXPECT_EQ(reason("x^2-1", "(x-1)(x+1)"), "equal at pseudo-random points");
  EXPECT_EQ(reason("\\sin 2x", "2\\sin x\\cos x"), "equal at pseudo-random points");
  EXPECT_EQ(reason("\\frac{2}{3}", "0.6666667"), "equal to the places that count of a decimal");
  EXPECT_EQ(reason("\\text{east}", "East"), "the same words");
  EXPECT_EQ(reason("2/3", "3/4"), "3/4 is not 2/3");
  EXPECT_THAT(reason("5", "1/0"), HasSubstr("undefined"));
  EXPECT_THAT(reason("5", "5^{5^{5^5}}"), HasSubstr("too large to compute"));
  EXPECT_THAT(reason("5", "\\frac{5}{"), HasSubstr("a value is missing"));
}

TEST(MathEquivalence, AReasonIsOneLineOfAscii) {
  for (const std::string& answer :
       std::vector<std::string>{"a\nb\tc", "\xff\xfe", "5 \xe2\x82\xac \xe6\x97\xa5", std::string(5000, '\1')}) {
    for (const char c : reason("5", answer) + reason(answer, "5")) EXPECT_TRUE(c >= ' ' && c <= '~');
    EXPECT_LT(reason("5", answer).size(), 200u);
  }
}

TEST(MathEquivalence, SaysWhatCouldBeRead) {
  const Comparison both = compare_answers("5", "x");
  EXPECT_TRUE(both.truth_parsed && both.prediction_parsed);
  const Comparison one = compare_answers("5", "I think it is 5?");
  EXPECT_TRUE(one.truth_parsed);
  EXPECT_FALSE(one.prediction_parsed);
  EXPECT_FALSE(compare_answers("???", "5").truth_parsed);
}

TEST(MathEquivalence, WhatCannotBeReadEqualsOnlyWhatIsWrittenTheSame) {
  EXPECT_TRUE(equal("5 @ 6", "5 @ 6"));
  EXPECT_TRUE(equal("5 @ 6", "$5  @ 6$"));
  EXPECT_FALSE(equal("5 @ 6", "5 @ 7"));
  EXPECT_FALSE(equal("", ""));
  EXPECT_FALSE(equal("5", ""));
  EXPECT_FALSE(equal("\\frac{0}{0}", "\\frac{1}{0}"));
}

TEST(MathEquivalence, APercentageMayLackItsSignUnlessTold) {
  const Options strict{.lenient_percent = false};
  EXPECT_FALSE(equal("32\\%", "32", strict));
  EXPECT_TRUE(equal("32\\%", "0.32", strict));
}

TEST(MathEquivalence, ADecimalIsRoundedToSixPlaces) {
  EXPECT_TRUE(equal("\\pi", "3.14", {.decimal_places = 2}));
  EXPECT_FALSE(equal("\\pi", "3.141593", {.decimal_places = -1}));
  EXPECT_TRUE(equal("\\frac{1}{4}", "0.25", {.decimal_places = -1})) << "exactly equal";
}

TEST(MathEquivalence, NumbersInScientificNotation) {
  for (const char* written : {"0.00005", "5e-5", "5e-05", "5E-05", "5\\cdot10^{-5}", "\\frac{1}{20000}", "0.005\\%"}) {
    EXPECT_TRUE(equal("5e-05", written)) << written;
    EXPECT_TRUE(equal(written, "0.00005")) << written;
  }
  EXPECT_TRUE(equal("1e+21", "1" + std::string(21, '0')));
}

TEST(MathEquivalence, AnInequalityAnswersNoIntervalUnlessTold) {
  const Options option{.interval_from_inequality = true};
  EXPECT_TRUE(equal("(-2,7)", "-2 < x < 7", option));
  EXPECT_FALSE(equal("(-2,7]", "-2 < x < 7", option));
  EXPECT_TRUE(equal("(-\\infty,-1)\\cup(1,\\infty)", "x<-1 \\text{ or } x>1", option));
}

TEST(MathEquivalence, AVectorIsNoTupleUnlessTold) {
  const std::string column = "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}";
  const std::string square = "\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}";
  const Options option{.vector_as_tuple = true};
  EXPECT_FALSE(equal(column, "(1,2)"));
  EXPECT_TRUE(equal(column, "(1,2)", option));
  EXPECT_TRUE(equal("(1,2)", column, option));
  EXPECT_FALSE(equal(column, "(2,1)", option));
  EXPECT_FALSE(equal(square, "(1,2,3,4)", option));
}

}  // namespace
}  // namespace math_answers::math_equivalence_test
