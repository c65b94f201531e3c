// How an answer is read: numbers, precedence, brackets, words. Trees are shown as (operation operands).

#include "lexer.h"
#include "reading.h"
#include "tree.h"

#include <gmock/gmock.h>
#include <math_answers.h>

#include <map>
#include <string>

namespace math_answers {
namespace {

const std::map<Kind, std::string> kNames = {{Kind::kPi, "pi"},
                                            {Kind::kEuler, "e"},
                                            {Kind::kImaginary, "i"},
                                            {Kind::kInfinity, "infinity"},
                                            {Kind::kNegate, "-"},
                                            {Kind::kSum, "+"},
                                            {Kind::kProduct, "*"},
                                            {Kind::kQuotient, "/"},
                                            {Kind::kPower, "^"},
                                            {Kind::kRoot, "root"},
                                            {Kind::kFactorial, "!"},
                                            {Kind::kBinomial, "choose"},
                                            {Kind::kAbsolute, "abs"},
                                            {Kind::kFloor, "floor"},
                                            {Kind::kCeiling, "ceiling"},
                                            {Kind::kDegrees, "degrees"},
                                            {Kind::kPercent, "percent"},
                                            {Kind::kTuple, "tuple"},
                                            {Kind::kSet, "set"},
                                            {Kind::kList, "list"},
                                            {Kind::kUnion, "union"},
                                            {Kind::kMatrix, "matrix"},
                                            {Kind::kRow, "row"},
                                            {Kind::kRelation, "relation"},
                                            {Kind::kTime, "time"},
                                            {Kind::kText, "text"},
                                            {Kind::kReals, "reals"},
                                            {Kind::kDifference, "without"},
                                            {Kind::kInterval, "interval"},
                                            {Kind::kFunction, "function"},
                                            {Kind::kCall, "call"},
                                            {Kind::kBaseNumeral, "base"}};

std::string show(const Tree& tree, Place at) {
  const Node& node = tree[at];
  std::string text(node.text);
  if (const auto name = kNames.find(node.kind); name != kNames.end()) text = name->second + text;
  if (node.first == kNone) return text;
  std::string shown = "(" + text;
  for (const Place child : tree.children(at)) shown += " " + show(tree, child);
  return shown + ")";
}

std::string read(const std::string& written) {
  const std::string answer = in_ascii(written);
  Tree tree;
  Tokens tokens;
  const Reading reading = read_answer(answer, ShortUnits::kDrop, tokens, tree);
  return reading.parsed() ? show(tree, reading.root) : std::string("unreadable: ") + reading.reason;
}

TEST(MathGrammar, NumbersInTheirManySpellings) {
  for (const char* answer :
       {"1,234", "1{,}234", "1,\\!234", "1,\\! 234", "1\\,234", "1 234", "$1234$", "\\$1,234", "\\text{1234}",
        "\\mathbf{1234}", "1234.", "1,234\\text{ miles}", "\\boxed{1234}", "\\(1234\\)"}) {
    EXPECT_EQ(read(answer), "1234") << answer;
  }
  EXPECT_EQ(read(".5"), ".5");
  EXPECT_EQ(read("0.1\\overline{6}"), "0.1(6)");
  EXPECT_EQ(read("1.5E-4"), "1.5E-4");
}

TEST(MathGrammar, AnEBetweenDigitsIsAnExponentAndEulersNumberElsewhere) {
  EXPECT_EQ(read("1.2e-3"), "1.2E-3");
  EXPECT_EQ(read("1e6"), "1E6");
  EXPECT_EQ(read("-.5e+10"), "(- .5E+10)");
  EXPECT_EQ(read("(1e6, 5e-05)"), "(tuple 1E6 5E-05)");
  EXPECT_EQ(read("\\text{1e6}"), "1E6");
  EXPECT_EQ(read("x+1e6 cm"), "(+ x 1E6)");
  EXPECT_EQ(read("2e"), "(* 2 e)");
  EXPECT_EQ(read("2e^3"), "(* 2 (^ e 3))");
  EXPECT_EQ(read("2e-x"), "(+ (* 2 e) (- x))");
  EXPECT_EQ(read("2e - 3"), "(+ (* 2 e) (- 3))");
  EXPECT_EQ(read("2e -3"), "(+ (* 2 e) (- 3))");
  EXPECT_EQ(read("2 e3"), read("2 e 3")) << "not between digits";
  EXPECT_EQ(read("2\\mathrm{e}-3"), "(+ (* 2 e) (- 3))");
  EXPECT_EQ(read("e+21"), "(+ e 21)");
  EXPECT_EQ(read("\\frac12e-3"), "unreadable: a number without braces");
  EXPECT_EQ(read("\\frac{1}{2}e-3"), "(+ (* (/ 1 2) e) (- 3))");
}

TEST(MathGrammar, CommasGroupDigitsOnlyByThrees) {
  EXPECT_EQ(read("12,34"), "(list 12 34)");
  EXPECT_EQ(read("1, 234"), "(list 1 234)");
  EXPECT_EQ(read("1,234,5"), "(list 1 234 5)");
  EXPECT_EQ(read("(100,101)"), "(tuple 100 101)");
  EXPECT_EQ(read("\\frac{1}{29,\\!322,\\!216}"), "(/ 1 29322216)");
}

TEST(MathGrammar, ProductsGoFromLeftToRight) {
  EXPECT_EQ(read("1/2x"), "(* (/ 1 2) x)");
  EXPECT_EQ(read("1/2/3"), "(/ (/ 1 2) 3)");
  EXPECT_EQ(read("2^{-1}"), "(^ 2 (- 1))");
  EXPECT_EQ(read("-2^2"), "(- (^ 2 2))");
  EXPECT_EQ(read("a-b-c"), "(+ (+ a (- b)) (- c))");
  EXPECT_EQ(read("5!"), "(! 5)");
}

TEST(MathGrammar, CommandsWithoutBracesTakeOneDigit) {
  EXPECT_EQ(read("\\frac12"), "(/ 1 2)");
  EXPECT_EQ(read("\\frac1{72}"), "(/ 1 72)");
  EXPECT_EQ(read("\\frac{17}7"), "(/ 17 7)");
  EXPECT_EQ(read("\\frac\\pi2"), "(/ pi 2)");
  EXPECT_EQ(read("\\sqrt3x"), "(* (root 3) x)");
  EXPECT_EQ(read("\\sqrt[n+1]{x}"), "(root x (+ n 1))");
  EXPECT_EQ(read("\\binom52"), "(choose 5 2)");
  EXPECT_EQ(read("\\binom nk"), "(choose n k)");
  EXPECT_EQ(read("{n+1 \\choose k}"), "(choose (+ n 1) k)");
  EXPECT_EQ(read("x^12"), "(^ x 12)") << "an exponent is meant whole";
}

TEST(MathGrammar, MixedNumbersAreSums) {
  EXPECT_EQ(read("3\\frac{1}{2}"), "(+ 3 (/ 1 2))");
  EXPECT_EQ(read("-3\\frac12"), "(- (+ 3 (/ 1 2)))");
  EXPECT_EQ(read("3 1/2"), "(+ 3 (/ 1 2))");
  EXPECT_EQ(read("33\\frac13\\%"), "(percent (+ 33 (/ 1 3)))");
  EXPECT_EQ(read("3\\cdot\\frac12"), "(* 3 (/ 1 2))");
  EXPECT_EQ(read("3\\frac{\\pi}{2}"), "(* 3 (/ pi 2))");
}

TEST(MathGrammar, FunctionsWithoutBracketsTakeTheProductUpToTheNext) {
  EXPECT_EQ(read("\\sin 2x\\cos x"), "(* (function (* 2 x)) (function x))");
  EXPECT_EQ(read("\\sin^2 x"), "(^ (function x) 2)");
  EXPECT_EQ(read("\\sin 30^\\circ"), "(function (degrees 30))");
  EXPECT_EQ(read("\\log_2 8"), "(function 8 2)");
  EXPECT_EQ(read("3-2f(x)"), "(+ 3 (- (* 2 (callf x))))");
  EXPECT_EQ(read("\\sinh 2x\\tanh x"), "(* (function (* 2 x)) (function x))");
}

TEST(MathGrammar, FunctionsOfSeveralArguments) {
  for (const char* name : {"\\gcd", "\\lcm", "\\max", "\\min", " gcd", "\\operatorname{lcm}", "\\text{max}", " min"}) {
    EXPECT_EQ(read(name + std::string("(12, a+1, 5)")), "(function 12 (+ a 1) 5)") << name;
    EXPECT_EQ(read("a" + std::string(name) + " \\left\\{1, 2\\right\\}x"), "(* (* a (function 1 2)) x)") << name;
  }
  EXPECT_EQ(read("\\max(4)^2"), "(^ (function 4) 2)");
  EXPECT_EQ(read("\\max 4"), "unreadable: not closed, or followed by something without a meaning");
}

TEST(MathGrammar, BracketsMakeValuesPairsAndIntervals) {
  EXPECT_EQ(read("((5))"), "5");
  EXPECT_EQ(read("(1,2)"), "(tuple 1 2)") << "a point or an open interval";
  EXPECT_EQ(read("[1,2)"), "(interval 1 2)");
  EXPECT_EQ(read("(1,2,3)"), "(tuple 1 2 3)");
  EXPECT_EQ(read("\\{1,2\\}"), "(set 1 2)");
  EXPECT_EQ(read("(1,2"), "unreadable: a bracket is not closed");
  EXPECT_EQ(read("|-3|"), "(abs (- 3))");
  EXPECT_EQ(read("2|x|3"), "(* (* 2 (abs x)) 3)");
  EXPECT_EQ(read("2\\lfloor x+1\\rfloor\\left\\lceil\\frac72\\right\\rceil"),
            "(* (* 2 (floor (+ x 1))) (ceiling (/ 7 2)))");
  EXPECT_EQ(read("\\lfloor 3\\rceil"), "unreadable: not closed, or followed by something without a meaning");
}

TEST(MathGrammar, SeparatorsRelationsAndUnions) {
  EXPECT_EQ(read("2, 3, \\text{ and } 4"), "(list 2 3 4)");
  EXPECT_EQ(read("2\\text{ or }3"), "(list 2 3)");
  EXPECT_EQ(read("x = 1, 2"), "(relation x (list 1 2))");
  EXPECT_EQ(read("x = 1, y = 2"), "(list (relation x 1) (relation y 2))");
  EXPECT_EQ(read("x \\in [1,2]"), "(interval 1 2)");
  EXPECT_EQ(read("\\$\\frac23 \\approx \\$0.67"), "(/ 2 3)");
  EXPECT_EQ(read("\\mathbb{R}\\setminus\\{3\\}"), "(without reals (set 3))");
}

TEST(MathGrammar, PlusMinusGivesSeveralValues) {
  EXPECT_EQ(read("1\\pm\\sqrt2"), "(list (+ 1 (root 2)) (+ 1 (- (root 2))))");
  EXPECT_EQ(read("\\{\\pm 1, 0\\}"), "(set 1 (- 1) 0)");
  EXPECT_EQ(read("\\pm1\\pm2"), "(list (+ 1 2) (+ (- 1) 2) (+ 1 (- 2)) (+ (- 1) (- 2)))");
  EXPECT_EQ(read("\\pm1\\mp2"), "(list (+ 1 (- 2)) (+ (- 1) 2))") << "the signs belong together";
}

TEST(MathGrammar, UnitsCurrenciesAndDegreesAreDropped) {
  EXPECT_EQ(read("864 \\mbox{ inches}^2"), "864");
  EXPECT_EQ(read("12 square units"), "12");
  EXPECT_EQ(read("60\\text{ miles}/\\text{hour}"), "60");
  EXPECT_EQ(read("5 dollars"), "5");
  EXPECT_EQ(read("45 degrees"), "(degrees 45)");
  EXPECT_EQ(read("2s"), "(* 2 s)");
  EXPECT_EQ(read("\\text{cm}"), "textword") << "a unit alone is a word";
  EXPECT_EQ(read("5\\text{ million people}"), "unreadable: words among mathematics") << "that is not 5";
}

TEST(MathGrammar, WordsAreNoMathematics) {
  EXPECT_EQ(read("\\text{east}"), "textword");
  EXPECT_EQ(read("LQSX"), "textword");
  EXPECT_EQ(read("\\text{(C)}"), "C");
  EXPECT_EQ(read("\\text{A,B,E}"), "(list A B E)");
  EXPECT_EQ(read("CD"), "(* C D)") << "two capitals may be a length";
}

TEST(MathGrammar, TimesRatiosAndNumerals) {
  EXPECT_EQ(read("8\\!:\\!34 \\text{ p.m.}"), "(time 8 34)");
  EXPECT_EQ(read("9 a.m."), "(time 9)");
  EXPECT_EQ(read("1:4"), "(/ 1 4)");
  EXPECT_EQ(read("1 : 20"), "(/ 1 20)");
  EXPECT_EQ(read("0.0011_{2}"), "(base2 text0.0011)");
  EXPECT_EQ(read("152A_{11}"), "(base11 text152 textA)");
  EXPECT_EQ(read("3a_{12}"), "(* 3 (a 12))") << "three times a variable";
}

TEST(MathGrammar, MatricesOfAnyStyle) {
  EXPECT_EQ(read("\\begin{bmatrix} 1 & 2 \\\\ 3 & 4 \\end{bmatrix}"), "(matrix (row 1 2) (row 3 4))");
  EXPECT_EQ(read("\\left[\\begin{array}{cc} 1 & \\phantom -1 \\\\ \\end{array}\\right]"), "(matrix (row 1 1))");
  for (const char* determinant :
       {"\\begin{vmatrix} a & b \\\\ c & d \\end{vmatrix}", "|\\begin{matrix} a & b \\\\ c & d \\end{matrix}|",
        "\\det\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}"}) {
    EXPECT_EQ(read(determinant), "(+ (* a d) (- (* b c)))") << determinant;
  }
  EXPECT_EQ(read("\\det(A)"), "unreadable: the determinant of something that is no matrix");
  EXPECT_EQ(read("\\det\\begin{pmatrix} 1 & 2 \\end{pmatrix}"), "unreadable: a determinant without a value");
}

TEST(MathGrammar, SignsBeyondAscii) {
  EXPECT_EQ(read("−2π"), "(* (- 2) pi)");
  EXPECT_EQ(read("√12 × 3°"), "(* (root 12) (degrees 3))");
  EXPECT_EQ(read("(−∞, 5]"), "(interval (- infinity) 5)");
}

TEST(MathGrammar, LimitsAreSaid) {
  EXPECT_EQ(read(std::string(513, '1')), "unreadable: too long");
  EXPECT_EQ(read(std::string(300, 'x')), "unreadable: too many signs");
  EXPECT_EQ(read(std::string(40, '(') + "1" + std::string(40, ')')), "unreadable: nested too deep");
  EXPECT_EQ(read("5 5"), "unreadable: two numbers side by side");
  EXPECT_EQ(read("4{10}"), "unreadable: two numbers side by side");
  EXPECT_EQ(read("\\foo{5}"), "unreadable: an unknown command");
  EXPECT_EQ(read(""), "unreadable: empty");
}

}  // namespace
}  // namespace math_answers
