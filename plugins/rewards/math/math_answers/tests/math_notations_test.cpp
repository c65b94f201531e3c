// Notations, names and units: each row an answer, a truth, and whether they are equal.

#include "rows.h"

namespace math_answers {
namespace {

using test::check;

TEST(MathNotations, NamesDecideWhichValueIsWhich) {
  check({
      {"(y,x)=(2,1)", "x=1,y=2", true},
      {"(y,x)=(1,2)", "x=1,y=2", false},
      {"(y,x)=(2,1)", "(x,y)=(1,2)", true},
      {"x=1,y=2", "(y,x)=(2,1)", true},
      {"x=2,y=1", "(y,x)=(2,1)", false},
      {"(2,1)", "(y,x)=(2,1)", true},
      {"(1,2)", "(y,x)=(2,1)", false},
      {"a=1,b=2", "(x,y)=(1,2)", false},
      {"a=1,b=2", "x=1,y=2", false},
      {"(r,\\theta)=(2,\\frac\\pi3)", "r=2, \\theta=\\frac{\\pi}{3}", true},
      {"x=1, y=2, z=3", "x=1,y=2", false},
      {"x'=1, x=2", "x=1, x'=2", false},
  });
}

TEST(MathNotations, ValuesWithoutNamesKeepAnOrder) {
  check({
      {"1, 2", "x=1,y=2", true},
      {"2, 1", "x=1,y=2", false},
      {"2, 1", "y=2,x=1", true},
      {"1, 2", "y=2,x=1", true},
      {"30, 60", "\\alpha=30, \\beta=60", true},
      {"60, 30", "\\alpha=30, \\beta=60", false},
      {"2, 1", "x=1 \\text{ or } x=2", true},
  });
}

TEST(MathNotations, AlternativesAreNoPoint) {
  check({
      {"x=1 \\text{ or } y=2", "x=1,y=2", false},
      {"x=1 \\text{ or } y=2", "(1,2)", false},
      {"x=1,x=2", "(1,2)", false},
      {"x=1 \\text{ and } y=2", "(1,2)", true},
      {"x_1=1, x_2=2", "(1,2)", true},
      {"x_1=-2, x_2=3", "x=3 \\text{ or } x=-2", true},
      {"x_1=-2, x_2=4", "x=3 \\text{ or } x=-2", false},
      {"x_1=2, x_2=1", "x_1=1, x_2=2", false},
      {"x=2, x=1", "x_1=1, x_2=2", true},
  });
}

TEST(MathNotations, SystemsOfEquationsAreLists) {
  check({
      {"\\begin{cases} x=1 \\\\ y=2 \\end{cases}", "x=1,y=2", true},
      {"\\begin{cases} x=1, \\\\ y=2 \\end{cases}", "(1,2)", true},
      {"\\begin{cases} x&=1 \\\\ y&=2 \\\\ \\end{cases}", "(1,2)", true},
      {"\\left\\{\\begin{array}{l} x=1 \\\\ y=2 \\end{array}\\right.", "(1,2)", true},
      {"\\{x=1, y=2\\}", "x=1,y=2", true},
      {"\\begin{cases} x=2 \\\\ y=1 \\end{cases}", "(1,2)", false},
      {"\\{x=2, y=1\\}", "x=1,y=2", false},
  });
}

TEST(MathNotations, AndIsNotOr) {
  check({
      {"a<-1\\text{ and }a>3", "a<-1\\text{ or }a>3", false},
      {"a>3\\text{ or }a<-1", "a<-1\\text{ or }a>3", true},
      {"a<3\\text{ or }a>-1", "a<3\\text{ and }a>-1", false},
      {"a>-1\\text{ and }a<3", "a<3\\text{ and }a>-1", true},
      {"x=2 \\text{ and } x=3", "x=2 \\text{ or } x=3", true},
  });
}

TEST(MathNotations, ConditionsDescribeSets) {
  check({
      {"\\{x \\mid 2<x<5\\}", "(2,5)", true},
      {"\\{x : 2 < x < 5\\}", "(2,5)", true},
      {"\\{x | 5 > x > 2\\}", "(2,5)", true},
      {"\\{x \\in \\mathbb{R} \\mid 2\\le x\\le5\\}", "[2,5]", true},
      {"\\left\\{x\\,:\\,-3<x<3\\right\\}", "|x|<3", true},
      {"\\{x\\mid x\\le3\\}", "(-\\infty,3]", true},
      {"\\{x\\mid x<3\\}", "(-\\infty,3]", false},
      {"\\{x\\mid x>3\\}", "(-\\infty,3)", false},
      {"\\{x\\mid x<-1\\text{ or }x>1\\}", "(-\\infty,-1)\\cup(1,\\infty)", true},
      {"\\{x\\mid x<-1\\text{ and }x>1\\}", "(-\\infty,-1)\\cup(1,\\infty)", false},
      {"\\{x \\mid x\\ne0\\}", "\\mathbb{R}\\setminus\\{0\\}", true},
      {"\\{x \\mid x\\in\\mathbb{R}, x\\ne0\\}", "\\mathbb{R}\\setminus\\{0\\}", true},
      {"x>3", "\\{x\\mid x>3\\}", true},
      {"x\\ge3", "\\{x\\mid x>3\\}", false},
      {"(3,\\infty)", "\\{x\\mid x>3\\}", true},
      {"x<-1 \\text{ or } x>1", "\\{x\\mid x<-1\\text{ or }x>1\\}", true},
      {"x^2>1", "\\{x\\mid x<-1\\text{ or }x>1\\}", false},
      {"\\{x \\mid x^2<9\\}", "(-3,3)", false},
      {"\\{x \\mid x^2=42-\\frac13\\}", "-\\frac13", false},
      {"\\{x \\mid x^2=\\frac13\\}", "\\{x \\mid x^2=\\frac13\\}", true},
      {"\\{1, |x|\\}", "\\{|x|, 1\\}", true},
      {"\\{x\\mid x=2\\}", "\\{2\\}", true},
  });
}

TEST(MathNotations, IntervalsAndUnionsInOtherNotations) {
  check({
      {"]2,5[", "(2,5)", true},
      {"]2,5]", "(2,5]", true},
      {"[2,5[", "[2,5)", true},
      {"[2,5[", "[2,5]", false},
      {"]2,5[", "[2,5]", false},
      {"]-\\infty,-1[\\cup]1,+\\infty[", "(-\\infty,-1)\\cup(1,\\infty)", true},
      {"x\\in]2,5[", "(2,5)", true},
      {"(-\\infty,-1)U(1,\\infty)", "(-\\infty,-1)\\cup(1,\\infty)", true},
      {"(-\\infty,-1)\\text{ or }(1,\\infty)", "(-\\infty,-1)\\cup(1,\\infty)", true},
      {"(-\\infty,-1)\\text{ or }(2,\\infty)", "(-\\infty,-1)\\cup(1,\\infty)", false},
      {"\\mathbb{R}-\\{0\\}", "\\mathbb{R}\\setminus\\{0\\}", true},
      {"\\mathbb{R}-\\{1\\}", "\\mathbb{R}\\setminus\\{0\\}", false},
  });
}

TEST(MathNotations, WordsNameSets) {
  check({
      {"\\text{all real numbers}", "\\mathbb{R}", true},
      {"\\text{All real numbers.}", "(-\\infty,\\infty)", true},
      {"\\mathbb{R}", "\\text{all real numbers}", true},
      {"\\text{all real numbers}", "(0,\\infty)", false},
      {"\\text{no solution}", "\\emptyset", true},
      {"\\emptyset", "\\text{no solutions}", true},
      {"\\text{no solution}", "0", false},
      {"\\text{no solution}", "\\text{all real numbers}", false},
  });
}

TEST(MathNotations, ValuesKeepTheirUnits) {
  check({
      {"3\\text{ m}, 4\\text{ cm}", "3\\text{ cm}, 4\\text{ m}", false},
      {"4\\text{ m}, 3\\text{ cm}", "3\\text{ cm}, 4\\text{ m}", true},
      {"(3\\text{ m},4\\text{ cm})", "(3\\text{ cm},4\\text{ m})", false},
      {"3\\text{ cm}, 3\\text{ m}", "3\\text{ m}, 3\\text{ cm}", true},
      {"5\\text{ units}", "5\\text{ square units}", true},
      {"5\\text{ square units}", "5\\text{ units}", true},
      {"5\\text{ square units}", "5\\text{ cubic units}", false},
  });
}

TEST(MathNotations, UnitsInOtherNotations) {
  check({
      {"5 min", "5 minutes", true},
      {"5 min", "5 hours", false},
      {"5 sec", "5 seconds", true},
      {"60 \\frac{\\text{miles}}{\\text{hour}}", "60\\text{ mph}", true},
      {"60 \\frac{\\text{km}}{\\text{h}}", "60\\text{ mph}", false},
      {"60\\ \\frac{\\text{km}}{\\text{h}}", "60\\text{ km/h}", true},
      {"60\\text{ km}\\cdot\\text{h}^{-1}", "60\\text{ km/h}", true},
      {"60\\text{ km h}^{-1}", "60\\text{ km/h}", true},
      {"9.8\\ \\mathrm{m\\,s^{-2}}", "9.8\\text{ m/s}^2", true},
      {"9.8\\ \\mathrm{m\\,s^{-1}}", "9.8\\text{ m/s}^2", false},
      {"20", "20^\\circ\\text{C}", true},
      {"20^\\circ", "20^\\circ\\text{C}", true},
      {"20\\text{ degrees Celsius}", "20^\\circ\\text{C}", true},
      {"20^{\\circ}\\mathrm{C}", "20^\\circ\\text{C}", true},
      {"20^\\circ C", "20^\\circ\\text{C}", true},
      {"20°C", "20^\\circ\\text{C}", true},
      {"20^\\circ F", "20^\\circ\\text{C}", false},
      {"20^\\circ\\text{F}", "20^\\circ\\text{C}", false},
      {"20\\text{ K}", "20^\\circ\\text{C}", false},
      {"20\\%", "20^\\circ\\text{C}", false},
      {"5\\%", "5\\% \\text{ increase}", true},
      {"25\\%", "25\\%\\text{ of the students}", true},
      {"5\\text{ cm}", "5\\% \\text{ increase}", false},
      {"\\min(3,5)", "3", true},
      {"5\\text{ or more}", "5", false},
      {"5\\text{ or more}", "5\\text{ or more}", true},
  });
}

TEST(MathNotations, NumeralsWithLetters) {
  check({
      {"(1A)_{16}", "1A_{16}", true},
      {"(1a)_{16}", "1A_{16}", true},
      {"(FF)_{16}", "ff_{16}", true},
      {"\\text{FF}_{16}", "FF_{16}", true},
      {"\\text{beef}_{16}", "BEEF_{16}", true},
      {"beef_{16}", "BEEF_{16}", true},
      {"BEED_{16}", "BEEF_{16}", false},
      {"(BEEF)_{16}", "BEEF_{16}", true},
      {"(FE)_{16}", "FF_{16}", false},
      {"(FF)_{17}", "FF_{16}", false},
      {"101_{\\text{two}}", "101_2", true},
      {"101_{\\text{three}}", "101_2", false},
      {"ba_2", "ab_2", false},
      {"(ab)_{12}", "(AB)_{12}", true},
  });
}

TEST(MathNotations, NumbersInOtherNotations) {
  check({
      {".\\overline{3}", "\\frac13", true},
      {".\\overline{3}", ".3", false},
      {".\\overline{x}", ".3", false},
      {"\\frac.\\overline{x}3", ".3", false},
      {"5 x 10^{-5}", "0.00005", true},
      {"5 x 10^{-4}", "0.00005", false},
      {"5x", "50", false},
      {"\\infty", "Infinity", true},
      {"-\\infty", "Infinity", false},
      {"0.00005", "5e-05", true},
      {"e+21", "1e+21", false},
      {"10^{21}", "1e+21", true},
  });
}

TEST(MathNotations, ChoicesInOtherCostumes) {
  check({
      {"\\text{(B) 12}", "B", true},
      {"\\text{B) 12}", "B", true},
      {"\\text{B. 12}", "B", true},
      {"B: 12", "B", true},
      {"B. 12", "B", true},
      {"\\textbf{B}\\ 12", "B", true},
      {"\\textbf{(B)}\\ (1,2)", "B", true},
      {"\\text{Option B}", "B", true},
      {"\\text{Choice B}", "B", true},
      {"\\text{Answer: B}", "B", true},
      {"\\text{Option C}", "B", false},
      {"\\text{(C) 12}", "B", false},
      {"\\textbf{(B)}, \\textbf{(C)}", "B", false},
      {"(B), (C)", "B", false},
      {"\\textbf{(A)}\\ (B)", "B", false},
      {"\\textbf{(B)}\\ \\text{or (C)}", "B", false},
      {"12", "\\textbf{(B)}\\ 12", true},
      {"13", "\\textbf{(B)}\\ 12", false},
      {"\\textbf{(C)}\\ 12", "\\textbf{(B)}\\ 12", false},
      {"C", "\\textbf{(B)}\\ 12", false},
      {"\\textbf{B}x", "B", false},
      {"AB", "B", false},
  });
}

}  // namespace
}  // namespace math_answers
