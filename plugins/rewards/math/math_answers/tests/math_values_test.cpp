// The values behind the comparison: exact sums of roots, rational functions, sets of real numbers.

#include "comparison.h"
#include "evaluation.h"
#include "reading.h"

#include <gmock/gmock.h>

#include <string>

namespace math_answers::math_values_test {
namespace {

// One or two expressions in a tree.
class Expressions {
 public:
  explicit Expressions(const std::string& first, const std::string& second = "0") : first_(first), second_(second) {
    a = read_answer(first_, ShortUnits::kDrop, first_tokens_, tree).root;
    b = read_answer(second_, ShortUnits::kDrop, second_tokens_, tree).root;
  }

  Tree tree;
  Work work;
  Place a = kNone;
  Place b = kNone;

 private:
  std::string first_, second_;
  Tokens first_tokens_, second_tokens_;
};

Outcome outcome(const std::string& expression) {
  Expressions one(expression);
  ExactValue value;
  return evaluate_exactly(one.tree, one.a, one.work, value);
}

// Whether both have exact values, and the same.
bool exactly_equal(const std::string& a, const std::string& b) {
  Expressions two(a, b);
  ExactValue left;
  ExactValue right;
  EXPECT_EQ(evaluate_exactly(two.tree, two.a, two.work, left), Outcome::kValue) << a;
  EXPECT_EQ(evaluate_exactly(two.tree, two.b, two.work, right), Outcome::kValue) << b;
  return left == right;
}

TEST(ExactValues, SumsOfSquareRootsHaveOneForm) {
  EXPECT_TRUE(exactly_equal("\\sqrt{12}", "2\\sqrt{3}"));
  EXPECT_TRUE(exactly_equal("\\frac{1}{\\sqrt{3}-\\sqrt{2}}", "\\sqrt3+\\sqrt2"));
  EXPECT_TRUE(exactly_equal("(1+\\sqrt2)^3", "7+5\\sqrt2"));
  EXPECT_TRUE(exactly_equal("\\sqrt{6}\\sqrt{10}", "2\\sqrt{15}"));
  EXPECT_TRUE(exactly_equal("\\sqrt{\\frac{2}{3}}", "\\frac{\\sqrt6}{3}"));
  EXPECT_FALSE(exactly_equal("\\sqrt2+\\sqrt3", "\\sqrt5"));
}

TEST(ExactValues, ImaginaryUnitAndPi) {
  EXPECT_TRUE(exactly_equal("\\sqrt{-2}\\sqrt{-3}", "-\\sqrt6"));
  EXPECT_TRUE(exactly_equal("\\frac{1}{1+i}", "\\frac{1-i}{2}"));
  EXPECT_TRUE(exactly_equal("\\frac{2\\pi^2}{\\pi}", "\\pi+\\pi"));
  EXPECT_FALSE(exactly_equal("\\pi", "\\frac{355}{113}"));
}

TEST(ExactValues, PerfectRootsArePrincipalOrReal) {
  EXPECT_TRUE(exactly_equal("\\sqrt[3]{-8}", "-2"));
  EXPECT_TRUE(exactly_equal("8^{2/3}", "4"));
  EXPECT_TRUE(exactly_equal("\\sqrt{\\frac{4}{9}}", "\\frac23"));
  EXPECT_TRUE(exactly_equal("0^0", "1"));
}

TEST(ExactValues, WhatIsTooLargeIsNotComputed) {
  EXPECT_EQ(outcome("2^{30000}"), Outcome::kValue);
  EXPECT_EQ(outcome("2^{40000}"), Outcome::kTooLarge);
  EXPECT_EQ(outcome("5^{5^{5^{5}}}"), Outcome::kTooLarge);
  EXPECT_EQ(outcome("(-1)^{1000001}"), Outcome::kValue);
  EXPECT_EQ(outcome("3000!"), Outcome::kValue);
  EXPECT_EQ(outcome("3001!"), Outcome::kTooLarge);
  EXPECT_EQ(outcome("1E99999999999999999999"), Outcome::kTooLarge);
  EXPECT_EQ(outcome("\\sin(9^{9^{9^9}})"), Outcome::kTooLarge);
}

TEST(ExactValues, WhatHasNoneIsTold) {
  EXPECT_EQ(outcome("\\frac{1}{2-2}"), Outcome::kUndefined);
  EXPECT_EQ(outcome("0^{-1}"), Outcome::kUndefined);
  EXPECT_EQ(outcome("(-3)!"), Outcome::kUndefined);
  EXPECT_EQ(outcome("\\gcd(\\frac12,3)"), Outcome::kUndefined);
  EXPECT_EQ(outcome("\\max(\\sqrt2,1)"), Outcome::kOther);
  EXPECT_EQ(outcome("\\lfloor\\pi\\rfloor"), Outcome::kOther);
  EXPECT_EQ(outcome("\\lcm(2^{30000},3^{18000},5^{12000})"), Outcome::kTooLarge);
  EXPECT_EQ(outcome("\\sin 1"), Outcome::kOther);
  EXPECT_EQ(outcome("x+1"), Outcome::kOther);
  EXPECT_EQ(outcome("\\sqrt{1+\\sqrt2}"), Outcome::kOther);
}

bool equal_functions(const std::string& a, const std::string& b) {
  Expressions two(a, b);
  return compare_scalars(two.tree, two.a, two.b, {}, two.work).equal;
}

TEST(RationalFunctions, AreEqualWhereTheirValuesAre) {
  EXPECT_TRUE(equal_functions("\\frac{x^2-1}{x-1}", "x+1"));
  EXPECT_TRUE(equal_functions("N+n", "2n"));
  EXPECT_FALSE(equal_functions("x^{1000}", "x^{1001}"));
  EXPECT_FALSE(equal_functions("\\pi x", "3.14159265358979x"));
}

TEST(RationalFunctions, ThatAreCloseAreNotEqual) {
  for (const char* number : {"2305843009213693951", "4611686018427387847", "10^{-90}", "2^{-500}"}) {
    EXPECT_FALSE(equal_functions("x", "x+" + std::string(number)));
    EXPECT_FALSE(equal_functions("x", number + std::string(" y+x")));
    EXPECT_FALSE(compare_answers("x=y", "x=y+" + std::string(number)).equal);
  }
}

bool same_region(const std::string& a, const std::string& b) {
  Expressions two(a, b);
  const auto left = real_set(two.tree, two.a, two.work);
  const auto right = real_set(two.tree, two.b, two.work);
  EXPECT_TRUE(left && right) << a << " and " << b;
  return left && right && same_set(two.tree, *left, *right, two.work);
}

TEST(RealSets, UnionsHaveOneForm) {
  EXPECT_TRUE(same_region("[1,2]\\cup[2,3)", "[1,3)"));
  EXPECT_TRUE(same_region("(1,2)\\cup\\{2\\}\\cup(2,3)", "(1,3)"));
  EXPECT_FALSE(same_region("(1,2)\\cup(2,3)", "(1,3)"));
  EXPECT_TRUE(same_region("(5,\\infty)\\cup(-\\infty,5)", "\\mathbb{R}\\setminus\\{5\\}"));
  EXPECT_TRUE(same_region("[0,5]\\cap(3,9)", "(3,5]"));
  EXPECT_TRUE(same_region("(\\sqrt2,\\sqrt{8})", "(2^{1/2},2\\sqrt2)"));
  EXPECT_TRUE(same_region("(3,2)", "\\emptyset"));
}

TEST(RealSets, InequalitiesInOneVariable) {
  EXPECT_TRUE(same_region("-2 \\le x < 7", "[-2,7)"));
  EXPECT_TRUE(same_region("7 > x \\ge -2", "[-2,7)"));
  EXPECT_TRUE(same_region("x \\ne 3", "(-\\infty,3)\\cup(3,\\infty)"));
  EXPECT_TRUE(same_region("x<-1 \\text{ or } x>1", "(-\\infty,-1)\\cup(1,\\infty)"));
  EXPECT_TRUE(same_region("x>2 \\text{ and } x<5", "(2,5)"));
}

TEST(RealSets, BoundsWithoutOrderAreTold) {
  Expressions symbolic("[a,b]\\cup[1,2]");
  EXPECT_FALSE(real_set(symbolic.tree, symbolic.a, symbolic.work).has_value());
}

TEST(Order, SeparatesWhatIsCloseAndKnowsWhatIsEqual) {
  Expressions close("\\sqrt{10^{40}+1}", "10^{20}");
  EXPECT_EQ(order(close.tree, close.a, close.b, close.work), 1);
  Expressions same("\\sqrt2+\\sqrt3", "\\sqrt{5+2\\sqrt6}");
  EXPECT_EQ(order(same.tree, same.a, same.b, same.work), 0);
  Expressions complex("i", "1");
  EXPECT_EQ(order(complex.tree, complex.a, complex.b, complex.work), std::nullopt);
}

}  // namespace
}  // namespace math_answers::math_values_test
