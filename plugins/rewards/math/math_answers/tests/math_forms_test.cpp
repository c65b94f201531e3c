// How answers are written: each row an answer, a truth, and whether they are equal.

#include "rows.h"

namespace math_answers {
namespace {

using test::check;

// Lenient for percentages only where the truth has the sign, or is at least 1.
TEST(MathForms, UnitsThatDifferAreDifferentAnswers) {
  check({
      {"0.5\\%", "\\frac12", false},
      {"50\\%", "50\\%", true},
      {"50", "50\\%", true},
      {"0.5", "50\\%", true},
      {"12.5\\%", "\\$12.50", false},
      {"5 km", "5 m", false},
      {"3 cm^2", "3 cm^3", false},
      {"3 \\text{ m55555555555555555555}", "3 m^2", false},
      {"90^\\circ", "90\\%", false},
      {"90^\\circ", "90", true},
      {"5 cm", "5", true},
      {"50\\%", "50", true},
      {"25\\%", "25", true},
      {"50%", "50%", true},
      {"-5\\%", "-5", true},
      {"-5\\%", "-5\\%", true},
      {"5 per cent", "5\\%", true},
      {"5\\text{ per cent}", "5\\%", true},
      {"5 percent", "\\$5", false},
      {"0.5\\%", "0.5", false},
      {"0.5\\%", "0.5\\%", true},
      {"0.5", "0.5\\%", true},
      {"1.5\\%", "1.5", true},
      {"\\frac12\\%", "\\frac12", false},
      {"0.005", "0.5\\%", true},
      {"€5", "\\$5", false},
      {"£5", "€5", false},
      {"5 dollars", "\\$5", true},
      {"5 cents", "\\$5", false},
      {"\\$5", "5", true},
      {"$5", "5", true},
      {"$12.50", "12.5\\%", false},
      {"$12.50", "\\$12.50", true},
      {"5 euros", "€5", true},
      {"5 \\text{ kilometers}", "5 km", true},
      {"5 \\text{ hours}", "5 \\text{ minutes}", false},
      {"5 \\text{ square feet}", "5 \\text{ ft}^2", true},
      {"5 \\text{ cubic feet}", "5\\text{ ft}^2", false},
      {"5 cm²", "5 cm^2", true},
      {"5 cm²", "5 cm³", false},
      {"5 mph", "5 \\text{ miles per hour}", true},
      {"5 km/h", "5 mph", false},
      {"5 \\text{ m/s}", "5 \\text{ m/s}^2", false},
      {"5 \\text{ units}", "5 cm", true},
      {"5 \\text{ square units}", "5 \\text{ cm}^2", true},
      {"5 \\text{ square units}", "5 \\text{ cm}^3", false},
      {"5 \\text{ students}", "5 cm", true},
      {"5 m", "5 \\text{ meters}", true},
      {"5 g", "5 m", false},
      {"5 m^2", "5 m^3", false},
      {"5 m^2", "5 m^2", true},
      {"5 kg", "5 \\text{ pounds}", false},
      {"90^\\circ", "90 \\text{ radians}", false},
      {"90 degrees", "90^\\circ", true},
      {"90°", "90 percent", false},
      {"5 \\text{ days in total}", "5\\text{ days}", true},
      {"5 inches", "5 in", true},
      {"5 in", "5 \\text{ feet}", false},
      {"50\\%", "\\sin 30^\\circ", true},
      {"(6,235^\\circ)", "(6,235)", true},
  });
}

// A percent or degree sign or a unit behind a fraction or a mixed number belongs to the whole.
TEST(MathForms, AMarkBehindAFractionBelongsToAllOfIt) {
  check({
      {"1/2\\%", "50", false},
      {"1/2\\%", "0.5\\%", true},
      {"0.5\\%", "1/2\\%", true},
      {"0.005", "1/2\\%", true},
      {"-1/2\\%", "-0.5\\%", true},
      {"1/2 percent", "\\frac12\\%", true},
      {"1.5/2\\%", "0.75\\%", true},
      {"10\\%/20\\%", "0.5", true},
      {"\\sqrt{2}/2\\%", "\\frac{\\sqrt{2}}{2}\\%", true},
      {"(1+2)/4\\%", "0.75\\%", true},
      {"33 1/3\\%", "33\\frac{1}{3}\\%", true},
      {"33⅓%", "33 1/3\\%", true},
      {"\\frac13", "33 1/3\\%", true},
      {"-2 1/2\\%", "-2.5\\%", true},
      {"2 1/2^\\circ", "2.5^\\circ", true},
      {"2 1/2°", "2.5", true},
      {"2 1/2 degrees", "2.5^\\circ", true},
      {"\\sin(1/2^\\circ)", "\\sin(0.5^\\circ)", true},
      {"1/2^\\circ", "0.5", true},
      {"2 1/2 \\text{ cm}", "2.5 cm", true},
      {"1/2 cm", "0.5 \\text{ cm}", true},
      {"1/2 m", "0.5 \\text{ km}", false},
      {"2 1/2\\%", "2.5^\\circ", false},
      {"33 1/3^2", "\\frac{10000}{9}", false},
  });
}

TEST(MathForms, SignsOfOtherScriptsAreThoseOfAscii) {
  check({
      {"１１６", "116", true},
      {"116", "１１６", true},
      {"－３．５", "-3.5", true},
      {"（１，２］", "(1,2]", true},
      {"ｘ＋１", "x+1", true},
      {"12 000", "12000", true},
      {"３。", "3", true},
      {"７÷２", "3.5", true},
      {"１，２", "1,2", true},
      {"１１７", "116", false},
      {"1，000", "1000", false},
  });
}

TEST(MathForms, ColoursAndSpacesSayNothing) {
  check({
      {"\\textcolor{red}{5}", "5", true},
      {"\\color{blue} 5", "5", true},
      {"\\textcolor[rgb]{1,0,0}{\\frac12}", "0.5", true},
      {"\\colorbox{yellow}{$5$}", "5", true},
      {"x =\\hspace{2mm}3", "3", true},
      {"\\textcolor{red}{\\text{yes}}", "\\text{yes}", true},
      {"5", "\\textcolor{red}{5}", true},
      {"\\textcolor{5}{6}", "5", false},
      {"\\textcolor{red", "5", false},
  });
}

TEST(MathForms, ResiduesHaveAModulus) {
  check({
      {"3 \\pmod{7}", "3 \\pmod 7", true},
      {"10 \\pmod{7}", "3 \\pmod 7", true},
      {"-4 \\bmod 7", "3 \\pmod{7}", true},
      {"x \\equiv 3 \\pmod{7}", "3 \\pmod 7", true},
      {"x \\equiv 10 \\pmod{7}", "x \\equiv 3 \\pmod 7", true},
      {"x ≡ 3 (mod 7)", "3 \\pmod 7", true},
      {"3 \\ (\\text{mod } 7)", "3 \\pmod 7", true},
      {"3 mod 7", "3", true},
      {"3", "x \\equiv 3 \\pmod 7", true},
      {"1, 3 \\pmod 7", "3, 1 \\pmod{7}", true},
      {"3 \\pmod{2^3}", "11 \\pmod 8", true},
      {"10", "3 \\pmod 7", false},
      {"4 \\pmod 7", "3 \\pmod 7", false},
      {"3 \\pmod 8", "3 \\pmod 7", false},
      {"y \\equiv 3 \\pmod 7", "x \\equiv 3 \\pmod 7", false},
      {"3 \\pmod 0", "4 \\pmod 0", false},
      {"\\pmod 7", "3 \\pmod 7", false},
  });
}

TEST(MathForms, NotANumberEqualsNothing) {
  check({
      {"nan", "nan", false},
      {"NaN", "NaN", false},
      {"\\text{nan}", "\\text{nan}", false},
      {"nan", "0", false},
      {"-nan", "-nan", false},
      {"x=nan", "x=nan", false},
  });
}

TEST(MathForms, DigitsOfABaseHaveNoCase) {
  check({
      {"A3_{16}", "a3_{16}", true},
      {"ff_{16}", "FF_{16}", true},
      {"1f_{16}", "1F_{16}", true},
      {"1F_{16}", "1f_{16}", true},
      {"2b5_{12}", "2B5_{12}", true},
      {"2b5_{12}", "2B5_{13}", false},
      {"3a_{12}", "3A_{12}", true},
      {"0_2", "0_2", true},
      {"0_2", "0", true},
      {"1e_{16}", "1E_{16}", true},
      {"a3_{16}", "a4_{16}", false},
      {"101_2", "101_2", true},
      {"101₂", "101_2", true},
      {"101₃", "101_2", false},
  });
}

TEST(MathForms, InnerSetsKeepTheirBraces) {
  check({
      {"\\{\\{1\\},\\{2\\}\\}", "\\{1,2\\}", false},
      {"\\{\\{1\\},2\\}", "\\{1,2\\}", false},
      {"\\{\\{1,2\\}\\}", "\\{1,2\\}", false},
      {"\\{\\{2\\},\\{1\\}\\}", "\\{\\{1\\},\\{2\\}\\}", true},
      {"1,2", "\\{1,2\\}", true},
      {"\\{1,\\{2,3\\}\\}", "\\{1,\\{3,2\\}\\}", true},
      {"5", "\\{5\\}", true},
      {"\\{5\\}", "\\{\\{5\\}\\}", false},
      {"\\{\\emptyset\\}", "\\emptyset", false},
  });
}

TEST(MathForms, OverAndChooseDivideTheirGroup) {
  check({
      {"{1 \\over 2}", "\\frac12", true},
      {"1 \\over 2", "\\frac12", true},
      {"{\\sqrt{3} \\over 2}", "\\frac{\\sqrt3}{2}", true},
      {"{x+1 \\over x-1}", "\\frac{x+1}{x-1}", true},
      {"3{1 \\over 2}", "\\frac72", false},
      {"n \\choose k", "\\binom nk", true},
      {"{10 \\choose 3}", "120", true},
      {"-{1\\over 2}", "-0.5", true},
  });
}

TEST(MathForms, DotsAndLinesMarkRepeatingDigits) {
  check({
      {"0.\\dot{3}", "\\frac13", true},
      {"0.\\dot3", "\\frac13", true},
      {"0.1\\dot{6}", "\\frac16", true},
      {"0.\\dot{1}4285\\dot{7}", "\\frac17", true},
      {"0.\\dot{1}\\dot{2}", "\\frac{12}{99}", true},
      {"0.\\overline3", "\\frac13", true},
      {"0.\\bar{3}", "\\frac13", true},
      {"2.\\dot{3}", "\\frac73", true},
      {"0.\\dot{3}", "0.3", false},
  });
}

TEST(MathForms, AngleBracketsAreBracketsOfATuple) {
  check({
      {"\\langle 1,2\\rangle", "(1,2)", true},
      {"\\left\\langle 1,2\\right\\rangle", "(1,2)", true},
      {"⟨1,2⟩", "(1,2)", true},
      {"\\left<1,2\\right>", "(1,2)", true},
      {"\\langle 2,1\\rangle", "(1,2)", false},
      {"(1,2,3)", "\\langle 1,2,3\\rangle", true},
  });
}

TEST(MathForms, RaisedAndLoweredSignsAndVulgarFractions) {
  check({
      {"½", "\\frac12", true},
      {"x²", "x^2", true},
      {"3½", "\\frac72", true},
      {"¾", "0.75", true},
      {"⅓", "\\frac13", true},
      {"⅛", "\\frac18", true},
      {"⅒", "\\frac1{10}", true},
      {"-½", "-\\frac12", true},
      {"x³", "x^3", true},
      {"x⁻¹", "\\frac1x", true},
      {"x¹²", "x^{12}", true},
      {"2ⁿ", "2^n", true},
      {"x²+y²", "x^2+y^2", true},
      {"x₁+x₂", "x_1+x_2", true},
      {"log₂8", "3", true},
      {"½x", "\\frac{x}{2}", true},
      {"10²", "100", true},
      {"½", "\\frac13", false},
  });
}

TEST(MathForms, BackslashesOfUnreadJsonAreDoubled) {
  check({
      {"\\\\frac{1}{2}", "\\frac12", true},
      {"\\\\sqrt{2}", "\\sqrt2", true},
      {"\\\\left(1, 2\\\\right)", "(1,2)", true},
      {"\\\\{1,2\\\\}", "\\{1,2\\}", true},
      {"\\\\begin{pmatrix}1\\\\\\\\2\\\\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}", true},
      {"5\\\\%", "5\\%", true},
      {"\\\\text{east}", "\\text{east}", true},
      {"\\\\pi", "\\pi", true},
      {"\\frac12", "\\\\frac{1}{2}", true},
  });
}

// A truth that is no letter is compared with the value.
TEST(MathForms, ALetterBeforeAValueIsAChoice) {
  check({
      {"\\textbf{(B)}\\ 12", "B", true},
      {"\\textbf{(C)}\\ 12", "B", false},
      {"\\textbf{(B)} 12", "\\text{(B)}", true},
      {"\\text{(B) }12", "B", true},
      {"\\textbf{(B)}\\ \\frac12", "B", true},
      {"\\textbf{(B) }12", "B", true},
      {"\\textbf{(B)}~12", "B", true},
      {"(B)\\ 12", "B", true},
      {"\\textbf{(B)}\\ 12", "12", true},
      {"B", "\\textbf{(B)}\\ 12", true},
      {"\\textbf{(C)}\\ 12", "\\textbf{(B)}\\ 12", false},
      {"\\mathrm{(E)}\\ 7", "E", true},
      {"\\textbf{(A)}\\ \\text{none}", "A", true},
      {"\\text{(B), (C)}", "\\text{B, C}", true},
      {"B) 12", "B", true},
      {"\\textbf{(B)}", "B", true},
      {"\\textbf{B. } 12", "B", true},
  });
}

TEST(MathForms, NamedValuesAreATupleInTheOrderOfTheirNames) {
  check({
      {"5 \\text{ km}", "5 \\text{ m}", false},
      {"y=2, x=1", "(1,2)", true},
      {"(1,2)", "x=1,y=2", true},
      {"y=2, x=1", "(2,1)", false},
      {"x=1, y=2", "(1,2)", true},
      {"x=2,y=1", "(1,2)", false},
      {"y=2 \\text{ and } x=1", "(1,2)", true},
      {"(y,x)=(2,1)", "(1,2)", true},
      {"(x,y)=(1,2)", "(1,2)", true},
      {"c=3,a=1,b=2", "(1,2,3)", true},
      {"(2,1)", "x=1,y=2", false},
      {"y=2,x=1", "x=1,y=2", true},
      {"x=1,x=2", "1,2", true},
      {"(1,2)", "(x,y)=(1,2)", true},
      {"y=2,x=1", "(x,y)=(1,2)", true},
      {"x=2,y=1", "(x,y)=(1,2)", false},
  });
}

// An answer must be solved: another inequality may only repeat the problem.
TEST(MathForms, InequalitiesSolvedByHandEqualTheirIntervals) {
  check({
      {"(-3,3)", "|x|<3", true},
      {"(2,\\infty)", "3x-1>5", true},
      {"(-3,3)", "x^2<9", true},
      {"[-3,3]", "x^2<9", false},
      {"[-3,3]", "x^2\\le 9", true},
      {"(-\\infty,-3)\\cup(3,\\infty)", "|x|>3", true},
      {"(-\\sqrt5,\\sqrt5)", "x^2<5", true},
      {"(1,2)", "x^2-3x+2<0", true},
      {"(-\\infty,1]\\cup[2,\\infty)", "x^2-3x+2\\ge 0", true},
      {"(-1,3)", "|x-1|<2", true},
      {"(-1,4)", "|2x-3|<5", true},
      {"(-2,3)", "-5<2x-1<5", true},
      {"[-2,3)", "-5\\le 2x-1<5", true},
      {"(-\\infty,2)", "-3x>-6", true},
      {"(2,\\infty)", "-3x>-6", false},
      {"-3<x<3", "|x|<3", true},
      {"x>2", "3x-1>5", true},
      {"x<-3 \\text{ or } x>3", "x^2>9", true},
      {"x<-3 \\text{ or } x>3", "|x|>3", true},
      {"(2,4)", "2<x<4", true},
      {"|x|<3", "(-3,3)", false},
      {"|x|<3", "-3<x<3", false},
      {"x^2<9", "-3<x<3", false},
      {"x^2<9", "x^2<9", true},
      {"(1,\\infty)", "2(x-1)>0", true},
      {"(-\\infty,6)", "\\frac{x}{2}<3", true},
      {"(-4,4)", "x^2+1<17", true},
      {"(-\\infty,-2)\\cup(2,\\infty)", "x^2-4>0", true},
      {"\\mathbb{R}", "x^2>-1", true},
      {"(-1,1)\\cup(3,5)", "2<|x-2|<3", false},
      {"(-1,0)\\cup(4,5)", "2<|x-2|<3", true},
      {"(-\\infty,-4)\\cup(4,\\infty)", "3|x|-2>10", true},
      {"(-4,2)", "(x+1)^2<9", true},
      {"(3,5)", "(x-3)(x-5)<0", true},
      {"(3,5)", "3<x<5", true},
      {"(-3,3)", "9>x^2", true},
      {"[1-\\sqrt2,1+\\sqrt2]", "x^2-2x-1\\le0", true},
      {"(4,\\infty)", "x-1>\\frac{x+2}{2}", true},
      {"(-\\infty,3)\\cup(3,\\infty)", "2x\\ne 6", true},
      {"y<3", "x<3", false},
      {"-3<y<3", "|x|<3", false},
      {"x>3 \\text{ or } x<-3", "|x|>3", true},
      {"x>3", "|x|>3", false},
      {"(-3,3)", "|y|<3", true},
      {"(2,\\infty)", "5<3x-1", true},
      {"\\emptyset", "x^2<-1", true},
      {"[2,2]", "(x-2)^2\\le 0", true},
      {"\\{2\\}", "(x-2)^2\\le 0", true},
      {"(-2\\pi,2\\pi)", "|x|<2\\pi", true},
      {"(-\\infty,1)\\cup(1,\\infty)", "(x-1)^2>0", true},
      {"(0,1)", "x^3<x", false},
      {"(-2,3)", "-4<-2x+2<6", true},
      {"[0,4]", "|2-x|\\le 2", true},
  });
}

}  // namespace
}  // namespace math_answers
