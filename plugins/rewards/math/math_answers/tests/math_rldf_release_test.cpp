// What rldf_release pays for, with its mistakes. The pairs that it was measured on: math_golden_test.cpp.

#include "rldf_release.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>

namespace math_answers::math_rldf_release_test {
namespace {

bool pays(const std::string& prediction, const std::string& truth) { return rldf_release_equal(prediction, truth); }

TEST(RldfRelease, PaysForTheseWrongAnswers) {
  EXPECT_TRUE(pays("1,2", "12"));
  EXPECT_TRUE(pays("(12)", "(1,2)"));
  EXPECT_TRUE(pays("(1,23)", "(12,3)"));
  EXPECT_TRUE(pays("12,34", "1234"));
  EXPECT_TRUE(pays("2", "2,"));
  EXPECT_TRUE(pays("1_000", "1000"));
  EXPECT_TRUE(pays("x=3", "y=3"));
  EXPECT_TRUE(pays("8:34\\text{ a.m.}", "8:34\\text{ p.m.}"));
  EXPECT_TRUE(pays("\\text{ABE}", "\\text{A,B,E}"));
  EXPECT_FALSE(pays("[1,2]", "(1,2)"));
}

TEST(RldfRelease, PaysNothingForTheseRightAnswers) {
  for (const auto& [prediction, truth] : {std::pair{"0.09", "\\frac{9}{100}"},
                                          {"0.25", "\\frac14"},
                                          {"1.5", "\\frac{3}{2}"},
                                          {"8/18", "\\frac{4}{9}"},
                                          {"\\frac{6}{3}", "2"},
                                          {"\\frac{45}{9}", "5"},
                                          {"\\sqrt{3}/3", "\\frac{\\sqrt{3}}{3}"},
                                          {"\\frac{3\\sqrt{27}}{27}", "\\frac{\\sqrt{3}}{3}"},
                                          {"\\sqrt{2^{16}}", "256"},
                                          {"7i - 2", "-2 + 7i"},
                                          {"3, 7, 5", "3, 5, 7"},
                                          {"C", "\\text{(C)}"},
                                          {"[-2, 7]", "x \\in [-2,7]"},
                                          {"20 miles", "20"},
                                          {"45/3", "15"},
                                          {"32%", "32\\%"}}) {
    EXPECT_FALSE(pays(prediction, truth)) << prediction << " for " << truth;
  }
}

TEST(RldfRelease, NormalisesTheseAway) {
  EXPECT_TRUE(pays("0.5", "\\frac12"));
  EXPECT_TRUE(pays("\\dfrac{1}{2}", "\\tfrac12"));
  EXPECT_TRUE(pays("\\frac1{72}", "\\frac{1}{72}"));
  EXPECT_FALSE(pays("\\frac{72}1", "\\frac{72}{1}"));
  EXPECT_TRUE(pays("3/4", "\\frac{3}{4}"));
  EXPECT_FALSE(pays("03/4", "\\frac{3}{4}"));
  EXPECT_TRUE(pays("\\sqrt3", "\\sqrt{3}"));
  EXPECT_TRUE(pays("x = 5", "5"));
  EXPECT_FALSE(pays("xy = 5", "5"));
  EXPECT_TRUE(pays("\xC3\xA9 =5", "5"));  // two characters, of three bytes
  EXPECT_TRUE(pays("90^\\circ", "90"));
  EXPECT_TRUE(pays("10\\%", "10"));
  EXPECT_TRUE(pays("\\left( 1\n, 2 \\right)", "(1,2)"));
  EXPECT_TRUE(pays("12 \\text{ cm}", "12"));
  EXPECT_FALSE(pays("12 \\text{ cm} 3 \\text{ mm}", "12"));  // cut only where there is one
  EXPECT_TRUE(pays(".5x", "0.5x"));
}

TEST(RldfRelease, FallsBackOnMinervasNormalisation) {
  EXPECT_TRUE(pays("12 square units", "12"));
  EXPECT_TRUE(pays("\\text{east}", "east"));
  EXPECT_TRUE(pays("\\textbf{a}\\overline{b}", "ab"));
  EXPECT_TRUE(pays("then $7$ it is", "7"));
  EXPECT_TRUE(pays("\\boxed{a}b}", "a}b"));
  EXPECT_TRUE(pays("\\text{2 and 3}", "2and3"));
  EXPECT_TRUE(pays("1\\mbox{ hours}", "1"));
  EXPECT_TRUE(pays("nan", "nan"));      // unequal as numbers, equal as texts
  EXPECT_FALSE(pays("12 hour", "12"));  // the plural is on its list, the word is not
}

TEST(RldfRelease, GivesUpOnLongTextsThatRepeatThemselves) {
  const std::string digits(100, '7');
  EXPECT_TRUE(pays(digits + "\\text{x}", digits + "x"));
  const std::string more(200, '7');
  EXPECT_FALSE(pays(more + "\\text{x}", more + "x"));
  EXPECT_TRUE(pays(more, more + ","));  // the fast path comes first
  EXPECT_FALSE(repeats_itself(std::u32string(128, U'7')));
  EXPECT_TRUE(repeats_itself(std::u32string(129, U'7')));
  std::u32string different;
  for (char32_t c = 0; c < 200; ++c) different += U'a' + c;
  EXPECT_FALSE(repeats_itself(different));
  // Two halves: the n/2 suffixes of the second are all repeated, n/2 (n/2 + 1)/2 of n (n + 1)/2, a quarter.
  EXPECT_TRUE(repeats_itself(different + different));
  // A third and less: (n/3)(n/3 + 1)/2, a ninth.
  EXPECT_FALSE(repeats_itself(different + different.substr(0, 100)));
}

TEST(RldfRelease, FindsNoAnswerInsideAnEarlierBoxThanTheLast) {
  EXPECT_EQ(rldf_release_boxed_answer("\\boxed{1} \\boxed{2}"), "2");
  EXPECT_EQ(rldf_release_boxed_answer("\\boxed{1} \\boxed{2"), std::nullopt);
  EXPECT_EQ(rldf_release_boxed_answer("\\boxed {1}"), std::nullopt);
}

double number(std::u32string_view text) {
  const auto value = python_float(text);
  EXPECT_TRUE(value.has_value());
  return value.value_or(std::nan(""));
}

TEST(PythonFloat, ReadsWhatPythonReads) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(number(U" \t1.50 "), 1.5);
  EXPECT_EQ(number(U"+5"), 5);
  EXPECT_EQ(number(U"5."), 5);
  EXPECT_EQ(number(U"-.5e-1"), -0.05);
  EXPECT_EQ(number(U"1_000.2_5"), 1000.25);
  EXPECT_EQ(number(U"1E+3"), 1000);
  EXPECT_EQ(number(U"\u0663\u0661"), 31);       // Arabic-Indic digits
  EXPECT_EQ(number(U"\u3000\uFF11\u00A0"), 1);  // full width, between wide spaces
  EXPECT_EQ(number(U"-Infinity"), -infinity);
  EXPECT_EQ(number(U"iNf"), infinity);
  EXPECT_TRUE(std::isnan(number(U"+NaN")));
  EXPECT_EQ(number(U"1e999"), infinity);
  EXPECT_EQ(number(U"-1e99999999999999999999"), -infinity);
  EXPECT_EQ(number(std::u32string(400, U'9')), infinity);
  EXPECT_EQ(number(U"1e-999"), 0);
  EXPECT_EQ(number(U"0." + std::u32string(400, U'0') + U"1"), 0);
  EXPECT_EQ(number(U"0." + std::u32string(400, U'0') + U"1e401"), 1);
}

TEST(PythonFloat, RefusesWhatPythonRefuses) {
  for (const char32_t* text : {U"",    U" ",   U"+",      U".",      U"e5",      U"1e",        U"1 2",     U"0x10",
                               U"_1",  U"1_",  U"1__0",   U"1_.5",   U"1e_5",    U"in_f",      U"infinit", U"nan(1)",
                               U"--1", U"+-1", U"\u00B2", U"\u00BD", U"1\u001C", U"\U0001D400"}) {
    EXPECT_FALSE(python_float(text).has_value());
  }
}

TEST(PythonIsDigit, TakesSuperscriptsToo) {
  EXPECT_TRUE(python_is_digit(U"12\u0663\u00B2"));
  EXPECT_FALSE(python_is_digit(U""));
  EXPECT_FALSE(python_is_digit(U"\u00BD"));
  EXPECT_FALSE(python_is_digit(U"1.5"));
}

}  // namespace
}  // namespace math_answers::math_rldf_release_test
