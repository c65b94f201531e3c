// How an answer is read: numbers, precedence, brackets, words. Trees are shown as (operation operands).

#include "files.h"
#include "lexer.h"
#include "reading.h"
#include "tree.h"

#include <gmock/gmock.h>
#include <math_answers.h>

#include <map>
#include <string>

namespace math_answers::math_grammar_test {
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

TEST(MathGrammar, AnswersAreReadAsTheTableSays) {
  for (const test::Answer& answer : test::read_answers("grammar.txt")) {
    SCOPED_TRACE(answer.shape);
    EXPECT_EQ(read(answer.truth), answer.equal.at(0)) << answer.truth;
  }
}

TEST(MathGrammar, NumbersInTheirManySpellings) {
  for (const char* answer :
       {"1,234", "1{,}234", "1,\\!234", "1,\\! 234", "1\\,234", "1 234", "$1234$", "\\$1,234", "\\text{1234}",
        "\\mathbf{1234}", "1234.", "1,234\\text{ miles}", "\\boxed{1234}", "\\(1234\\)"}) {
    EXPECT_EQ(read(answer), "1234") << answer;
  }
}

TEST(MathGrammar, AnEBetweenDigitsIsAnExponentAndEulersNumberElsewhere) {
  EXPECT_EQ(read("2 e3"), read("2 e 3")) << "not between digits";
}

TEST(MathGrammar, FunctionsOfSeveralArguments) {
  for (const char* name : {"\\gcd", "\\lcm", "\\max", "\\min", " gcd", "\\operatorname{lcm}", "\\text{max}", " min"}) {
    EXPECT_EQ(read(name + std::string("(12, a+1, 5)")), "(function 12 (+ a 1) 5)") << name;
    EXPECT_EQ(read("a" + std::string(name) + " \\left\\{1, 2\\right\\}x"), "(* (* a (function 1 2)) x)") << name;
  }
}

TEST(MathGrammar, MatricesOfAnyStyle) {
  for (const char* determinant :
       {"\\begin{vmatrix} a & b \\\\ c & d \\end{vmatrix}", "|\\begin{matrix} a & b \\\\ c & d \\end{matrix}|",
        "\\det\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}"}) {
    EXPECT_EQ(read(determinant), "(+ (* a d) (- (* b c)))") << determinant;
  }
}

TEST(MathGrammar, LimitsAreSaid) {
  EXPECT_EQ(read(std::string(513, '1')), "unreadable: too long");
  EXPECT_EQ(read(std::string(300, 'x')), "unreadable: too many signs");
  EXPECT_EQ(read(std::string(40, '(') + "1" + std::string(40, ')')), "unreadable: nested too deep");
  EXPECT_EQ(read(""), "unreadable: empty");
}

}  // namespace
}  // namespace math_answers::math_grammar_test
