// compare_answers: its options, what it reports, and how it decides. Answers of every shape, with their spellings, are
// in answers.txt.

#include "comparison.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

namespace math_answers {
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
  EXPECT_EQ(reason("x^2-1", "(x-1)(x+1)"), "equal as rational functions");
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
  EXPECT_TRUE(equal("32\\%", "32"));
  EXPECT_FALSE(equal("32\\%", "32", strict));
  EXPECT_TRUE(equal("32\\%", "0.32", strict));
  EXPECT_FALSE(equal("32\\%", "3.2"));
}

TEST(MathEquivalence, ADecimalIsRoundedToSixPlaces) {
  EXPECT_TRUE(equal("\\pi", "3.141593"));
  EXPECT_FALSE(equal("\\pi", "3.14159"));
  EXPECT_TRUE(equal("\\pi", "3.14", {.decimal_places = 2}));
  EXPECT_FALSE(equal("\\pi", "3.141593", {.decimal_places = -1}));
  EXPECT_TRUE(equal("\\frac{1}{4}", "0.25", {.decimal_places = -1})) << "exactly equal";
  // sqrt(260) is 16.12451549659...: the seven places given are right, although the sixth alone would be rounded down.
  EXPECT_TRUE(equal("2\\sqrt{65}", "16.1245155"));
  EXPECT_FALSE(equal("1.2345678", "1.2345679")) << "two decimals are compared as they are";
}

TEST(MathEquivalence, NumbersInScientificNotation) {
  for (const char* written : {"0.00005", "5e-5", "5e-05", "5E-05", "5\\cdot10^{-5}", "\\frac{1}{20000}", "0.005\\%"}) {
    EXPECT_TRUE(equal("5e-05", written)) << written;
    EXPECT_TRUE(equal(written, "0.00005")) << written;
  }
  EXPECT_TRUE(equal("1e+21", "1" + std::string(21, '0')));
  EXPECT_TRUE(equal("1.5e-4 \\text{ m}", "0.00015"));
  EXPECT_TRUE(equal("1e400", "10^{400}"));
  EXPECT_FALSE(equal("1e+21", "e+21"));
  EXPECT_FALSE(equal("1e21", "1e22"));
  EXPECT_FALSE(equal("12345678901234567890123", "12345678901234567890124"));
  EXPECT_FALSE(equal("5e-05", "5e-06"));
  EXPECT_FALSE(equal("5e-05", "5e-5x"));
}

TEST(MathEquivalence, PrecisionIsRelative) {
  EXPECT_FALSE(equal("\\frac{1}{2^{98}}", "\\frac{1}{2^{99}}"));
  EXPECT_FALSE(equal("\\frac{1}{2^{98}}", "0.0"));
  EXPECT_FALSE(equal("e^{-1000}", "0"));
  EXPECT_FALSE(equal("e^{-1000}\\pi", "e^{-1000}\\cdot 3.14159265358979"));
  EXPECT_FALSE(equal("2^{2008}-2", "2^{2008}"));
  EXPECT_TRUE(equal("10^{300}\\sin 1", "10^{300}\\cos(\\frac{\\pi}{2}-1)"));
}

TEST(MathEquivalence, AnInequalityAnswersNoIntervalUnlessTold) {
  const Options option{.interval_from_inequality = true};
  EXPECT_TRUE(equal("-2 < x < 7", "(-2,7)"));
  EXPECT_FALSE(equal("(-2,7)", "-2 < x < 7"));
  EXPECT_TRUE(equal("(-2,7)", "-2 < x < 7", option));
  EXPECT_FALSE(equal("(-2,7]", "-2 < x < 7", option));
  EXPECT_FALSE(equal("(-\\infty,-1)\\cup(1,\\infty)", "x<-1 \\text{ or } x>1"));
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

TEST(MathEquivalence, AnEquationGivesTheValueOfItsLastMember) {
  EXPECT_TRUE(equal("31", "8+8+15=31"));
  EXPECT_TRUE(equal("31", "\\text{total} = 8+23 = 31"));
  EXPECT_FALSE(equal("8+8+15=31", "31")) << "the truth wants the equation";
  EXPECT_FALSE(equal("6", "2x=6")) << "2x is no name";
  EXPECT_TRUE(equal("x^2-1", "(x-1)(x+1) = x^2-1"));
  EXPECT_FALSE(equal("x=3", "y=3"));
  EXPECT_TRUE(
      equal("\\text{proj}_b a = \\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}"));
}

TEST(MathEquivalence, ALetterBehindANumberIsAUnitOnlyWhereNoVariableIsMeant) {
  EXPECT_TRUE(equal("12", "12 m"));
  EXPECT_TRUE(equal("12", "12 m^2"));
  EXPECT_FALSE(equal("12", "12m"));
  EXPECT_TRUE(equal("2s", "2 s"));
  EXPECT_FALSE(equal("2s", "2"));
}

TEST(MathEquivalence, AnUnknownFunctionIsAFunctionOfItsArgument) {
  EXPECT_TRUE(equal("3 - 2f(x+1)", "-2f(1+x)+3"));
  EXPECT_FALSE(equal("2f(x)", "f(2x)"));
  EXPECT_FALSE(equal("f(x)", "g(x)"));
  EXPECT_TRUE(equal("\\sqrt{f(x)^2+1}", "\\sqrt{1+f(x)f(x)}"));
}

TEST(MathEquivalence, RootsOfVariablesAreComparedWhereBothAreReal) {
  EXPECT_FALSE(equal("\\sqrt{x^2}", "x"));
  EXPECT_TRUE(equal("\\sqrt{x^2}", "|x|"));
  EXPECT_TRUE(equal("42x\\sqrt{5x}", "\\sqrt{8820x^3}"));
  EXPECT_TRUE(equal("\\sqrt{x-3}", "(x-3)^{1/2}"));
  EXPECT_TRUE(equal("\\sqrt{xy}", "\\sqrt{x}\\sqrt{y}")) << "where both roots are real";
  EXPECT_TRUE(equal("\\sqrt[n]{x}", "x^{1/n}"));
  EXPECT_FALSE(equal("\\sqrt[n]{x}", "x^{1/(n+1)}"));
}

TEST(MathEquivalence, FactorialsAndBinomialsOfVariables) {
  EXPECT_TRUE(equal("n!", "n(n-1)!"));
  EXPECT_TRUE(equal("\\binom{n}{k}", "\\frac{n!}{k!(n-k)!}"));
  EXPECT_TRUE(equal("{n \\choose k}", "\\binom n{n-k}"));
  EXPECT_TRUE(equal("\\frac{n(n-1)}{2}", "\\binom{n}{2}"));
  EXPECT_FALSE(equal("n!", "(n+1)!"));
  EXPECT_FALSE(equal("\\binom{n}{k}", "\\binom{n}{k+1}"));
}

TEST(MathEquivalence, ValuesAreRoundedDownAndUp) {
  EXPECT_TRUE(equal("-3", "\\lfloor -2.5\\rfloor"));
  EXPECT_TRUE(equal("-2", "\\left\\lceil -\\frac52\\right\\rceil"));
  EXPECT_TRUE(equal("\\lfloor\\pi^2\\rfloor", "9"));
  EXPECT_TRUE(equal("\\lceil x\\rceil", "-\\lfloor -x\\rfloor"));
  EXPECT_FALSE(equal("\\lfloor x\\rfloor", "\\lceil x\\rceil"));
  EXPECT_FALSE(equal("\\lfloor i\\rfloor", "0"));
}

TEST(MathEquivalence, DivisorsAndExtremesOfFractions) {
  EXPECT_TRUE(equal("6", "\\gcd(12, 18, 30)"));
  EXPECT_TRUE(equal("2^{100}", "\\gcd(2^{100}, 6^{200})"));
  EXPECT_TRUE(equal("60", "\\operatorname{lcm}(4, 6, 10)"));
  EXPECT_TRUE(equal("\\frac23", "\\max(\\frac12, \\frac23, -5)"));
  EXPECT_TRUE(equal("-5", "\\min\\{\\frac12, -5\\}"));
  EXPECT_TRUE(equal("5x", "\\max(2,5)x"));
  EXPECT_FALSE(equal("6", "\\lcm(12, 18)"));
  EXPECT_FALSE(equal("\\frac12", "\\gcd(\\frac12, \\frac12)")) << "of whole numbers only";
}

TEST(MathEquivalence, DeterminantsOfMatrices) {
  EXPECT_TRUE(equal("-2", "\\det\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}"));
  EXPECT_TRUE(equal("ad-bc", "\\det\\left(\\begin{array}{cc} a & b \\\\ c & d \\end{array}\\right)"));
  EXPECT_FALSE(equal("ad+bc", "\\det\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}"));
}

TEST(MathEquivalence, HyperbolicFunctions) {
  EXPECT_TRUE(equal("\\sinh x", "\\frac{e^x-e^{-x}}{2}"));
  EXPECT_TRUE(equal("\\cosh x", "\\frac{e^x+e^{-x}}{2}"));
  EXPECT_TRUE(equal("\\tanh 1", "\\frac{\\sinh 1}{\\cosh 1}"));
  EXPECT_TRUE(equal("\\coth x", "1/\\tanh x"));
  EXPECT_TRUE(equal("\\sech x", "1/\\cosh x"));
  EXPECT_TRUE(equal("\\csch x", "1/\\sinh x"));
  EXPECT_TRUE(equal("\\cosh^2 x-\\sinh^2 x", "1"));
  EXPECT_FALSE(equal("\\sinh x", "\\sin x"));
}

TEST(MathEquivalence, MatricesMayBeScaled) {
  EXPECT_TRUE(equal("\\begin{pmatrix} 2 & 4 \\end{pmatrix}", "-\\frac{6}{3}\\begin{pmatrix} -1 & -2 \\end{pmatrix}"));
  EXPECT_TRUE(equal("\\begin{pmatrix} 2 & 4 \\end{pmatrix}", "-\\begin{pmatrix} -2 & -4 \\end{pmatrix}"));
}

TEST(MathEquivalence, SymmetricIsOnlyWhatShouldBe) {
  EXPECT_TRUE(equal("(1,2)", "1, 2"));
  EXPECT_FALSE(equal("1, 2", "(1,2)"));
}

TEST(MathEquivalence, ThreadsDoNotDisturbEachOther) {
  const std::vector<std::pair<std::string, std::string>> pairs = {{"2\\sqrt{3}", "\\sqrt{12}"},
                                                                  {"\\sin 77^\\circ", "\\cos 13^\\circ"},
                                                                  {"\\sin 2x", "2\\sin x\\cos x"},
                                                                  {"\\frac{1}{2004!}", "\\frac{2005}{2005!}"}};
  std::vector<std::thread> threads;
  std::vector<int> agreed(4, 0);
  for (int& count : agreed) {
    threads.emplace_back([&pairs, &count] {
      for (int i = 0; i < 25; ++i) {
        for (const auto& [truth, prediction] : pairs) count += equal(truth, prediction);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(agreed, testing::Each(100));
}

}  // namespace
}  // namespace math_answers
