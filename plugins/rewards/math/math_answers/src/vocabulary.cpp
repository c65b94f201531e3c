#include "vocabulary.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace math_answers {
namespace {

// Words of one meaning, between spaces. A symbol's name is the word itself, or what follows its `=`.
struct Group {
  Sign sign = Sign::kEnd;
  std::uint8_t detail = 0;
  std::string_view words;
};

constexpr std::uint8_t detail(Relation relation) { return static_cast<std::uint8_t>(relation); }

// In the order of Function.
constexpr std::string_view kFunctions[] = {
    "sin",  "cos",  "tan",  "cot",  "sec",  "csc", "arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc", "sinh",
    "cosh", "tanh", "coth", "sech", "csch", "ln",  "log",    "exp",    "gcd",    "lcm",    "max",    "min",    "det"};
constexpr std::string_view kFunctionWords =
    "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh coth sech csch ln log exp gcd "
    "lcm "
    "max min cosec=csc";

constexpr Group kCommands[] = {
    {Sign::kSkipped, 0,
     "! ( ) [ ] big bigg Big Bigg bigl bigr biggl biggr Bigl Bigr Biggl Biggr boxed displaystyle ensuremath fbox "
     "limits mathstrut middle nolimits scriptstyle strut textstyle"},
    {Sign::kSpace, 0, ", : ; > cdots dots dotsc enspace ldots qquad quad thinspace"},
    {Sign::kSymbol, 0,
     "Delta Gamma Lambda Omega Phi Pi Psi Sigma Theta Upsilon Xi alpha beta chi delta epsilon eta gamma iota kappa "
     "lambda mu nu omega phi psi rho sigma tau theta upsilon varepsilon=epsilon varphi=phi varpi varrho=rho "
     "varsigma=sigma vartheta=theta xi zeta aleph angle bot ell hbar parallel perp square star top triangle"},
    {Sign::kAccent, 0, "bar=overline dot hat overline overrightarrow tilde vec widehat widetilde"},
    {Sign::kTextCommand, 0, "hbox mathrm mathsf mbox operatorname mathtt text textnormal textrm textsf texttt textup"},
    {Sign::kTextCommand, 1, "bm boldsymbol emph mathbf mathcal mathit mathnormal textbf textit underline"},
    {Sign::kBlackboard, 0, "mathbb"},
    {Sign::kPhantom, 0, "hphantom phantom vphantom"},
    {Sign::kModulo, 0, "bmod mod pmod"},
    {Sign::kPi, 0, "pi"},
    {Sign::kInfinity, 0, "infty"},
    {Sign::kEmptySet, 0, "emptyset varnothing"},
    {Sign::kPercent, 0, "%"},
    {Sign::kCurrency, 0, "$=dollar euro pounds=pound yen"},
    {Sign::kPlusMinus, 0, "pm"},
    {Sign::kMinusPlus, 0, "mp"},
    {Sign::kTimes, 0, "ast cdot times"},
    {Sign::kSlash, 0, "div"},
    {Sign::kColon, 0, "colon"},
    {Sign::kPrime, 0, "prime"},
    {Sign::kCircle, 0, "circ degree"},
    {Sign::kFraction, 0, "cfrac dfrac frac tfrac"},
    {Sign::kBinomial, 0, "binom dbinom tbinom"},
    {Sign::kChoose, 0, "choose"},
    {Sign::kOver, 0, "over"},
    {Sign::kRoot, 0, "sqrt"},
    {Sign::kFunction, 0, kFunctionWords},
    {Sign::kFunction, 0, "ctg=cot det lg=log tg=tan"},
    {Sign::kRelation, detail(Relation::kEqual), "equiv"},
    {Sign::kRelation, detail(Relation::kApproximately), "approx"},
    {Sign::kRelation, detail(Relation::kMember), "in"},
    {Sign::kRelation, detail(Relation::kNotEqual), "ne neq"},
    {Sign::kRelation, detail(Relation::kLess), "lt"},
    {Sign::kRelation, detail(Relation::kLessEqual), "le leq leqq leqslant"},
    {Sign::kRelation, detail(Relation::kGreater), "gt"},
    {Sign::kRelation, detail(Relation::kGreaterEqual), "ge geq geqq geqslant"},
    {Sign::kUnion, 0, "cup"},
    {Sign::kIntersection, 0, "cap"},
    {Sign::kDifference, 0, "backslash setminus smallsetminus"},
    {Sign::kAnd, 0, "land wedge"},
    {Sign::kOr, 0, "lor vee"},
    {Sign::kLeft, 0, "left"},
    {Sign::kRight, 0, "right"},
    {Sign::kOpenRound, 0, "langle lparen"},
    {Sign::kCloseRound, 0, "rangle rparen"},
    {Sign::kOpenSquare, 0, "lbrack"},
    {Sign::kCloseSquare, 0, "rbrack"},
    {Sign::kOpenSet, 0, "{ lbrace"},
    {Sign::kCloseSet, 0, "} rbrace"},
    {Sign::kBar, 0, "mid vert"},
    {Sign::kOpenBar, 0, "lvert"},
    {Sign::kCloseBar, 0, "rvert"},
    {Sign::kOpenFloor, 0, "lfloor"},
    {Sign::kCloseFloor, 0, "rfloor"},
    {Sign::kOpenCeiling, 0, "lceil"},
    {Sign::kCloseCeiling, 0, "rceil"},
    {Sign::kBegin, 0, "begin"},
    {Sign::kClose, 0, "end"},
    {Sign::kRowEnd, 0, "\\ cr"},
    {Sign::kRule, 0, "hline"},
};

constexpr Group kWords[] = {
    {Sign::kSymbol, 0, "alpha beta theta"},
    {Sign::kFunction, 0, kFunctionWords},
    {Sign::kRoot, 1, "sqrt"},
    {Sign::kPi, 0, "pi"},
    {Sign::kInfinity, 0, "inf infinity infty Inf Infinity INF"},
    {Sign::kDegrees, 0, "deg degree degrees"},
    {Sign::kPercent, 0, "pct percent percentage"},
    {Sign::kNotANumber, 0, "nan NaN NAN Nan"},
    {Sign::kModulo, 0, "mod modulo"},
    {Sign::kAnd, 0, "and"},
    {Sign::kOr, 0, "or"},
};

// What is not written as a sign of ASCII before it is read (signs.cpp).
constexpr Group kUnicode[] = {
    {Sign::kSpace, 0, "…"},
    {Sign::kCurrency, 0, "¢=cent £=pound ¥=yen ₩=won €=euro ₹=rupee ₽=ruble"},
    {Sign::kSymbol, 0,
     "Δ=Delta Θ=Theta Ω=Omega α=alpha β=beta γ=gamma δ=delta ε=epsilon ζ=zeta η=eta θ=theta ι=iota κ=kappa λ=lambda "
     "μ=mu ν=nu ξ=xi ρ=rho σ=sigma τ=tau υ=upsilon φ=phi χ=chi ψ=psi ω=omega ϕ=phi ∆=triangle △=triangle ∠=angle"},
    {Sign::kPi, 0, "π"},
    {Sign::kInfinity, 0, "∞"},
    {Sign::kReals, 0, "ℝ"},
    {Sign::kEmptySet, 0, "∅ Ø"},
    {Sign::kDegrees, 0, "° º"},
    {Sign::kPlusMinus, 0, "±"},
    {Sign::kMinusPlus, 0, "∓"},
    {Sign::kPrime, 0, "’ ′"},
    {Sign::kRoot, 1, "√"},
    {Sign::kRelation, detail(Relation::kEqual), "≡"},
    {Sign::kRelation, detail(Relation::kApproximately), "≈"},
    {Sign::kRelation, detail(Relation::kNotEqual), "≠"},
    {Sign::kRelation, detail(Relation::kLessEqual), "≤ ⩽"},
    {Sign::kRelation, detail(Relation::kGreaterEqual), "≥ ⩾"},
    {Sign::kRelation, detail(Relation::kMember), "∈"},
    {Sign::kUnion, 0, "∪"},
    {Sign::kIntersection, 0, "∩"},
    {Sign::kDifference, 0, "∖"},
    {Sign::kComma, 0, "、 ， ；"},
};

constexpr Group kSpelledOut[] = {
    {Sign::kText, 0,
     "½=\\frac{1}{2} ⅓=\\frac{1}{3} ⅔=\\frac{2}{3} ¼=\\frac{1}{4} ¾=\\frac{3}{4} ⅕=\\frac{1}{5} ⅖=\\frac{2}{5} "
     "⅗=\\frac{3}{5} ⅘=\\frac{4}{5} ⅙=\\frac{1}{6} ⅚=\\frac{5}{6} ⅐=\\frac{1}{7} ⅛=\\frac{1}{8} ⅜=\\frac{3}{8} "
     "⅝=\\frac{5}{8} ⅞=\\frac{7}{8} ⅑=\\frac{1}{9} ⅒=\\frac{1}{10} ↉=0 ∛=\\sqrt[3] ∜=\\sqrt[4]"}};

constexpr Group kRaised[] = {
    {Sign::kCaret, 0, "⁰=0 ¹=1 ²=2 ³=3 ⁴=4 ⁵=5 ⁶=6 ⁷=7 ⁸=8 ⁹=9 ⁺=+ ⁻=- ⁽=( ⁾=) ⁱ=i ⁿ=n ˣ=x"},
    {Sign::kUnderscore, 0, "₀=0 ₁=1 ₂=2 ₃=3 ₄=4 ₅=5 ₆=6 ₇=7 ₈=8 ₉=9 ₊=+ ₋=- ₍=( ₎=) ᵢ=i ₐ=a ₓ=x ₖ=k ₘ=m ₙ=n"}};

using Table = std::unordered_map<std::string_view, Token>;

template <std::size_t N>
Table table_of(const Group (&groups)[N]) {
  Table table;
  for (const Group& group : groups) {
    std::string_view words = group.words;
    for (std::string_view word; !(word = take_word(words)).empty();) {
      const std::size_t equals = word.find('=');
      const std::string_view name = word.substr(equals == std::string_view::npos ? 0 : equals + 1);
      Token token{group.sign, group.detail};
      if (group.sign != Sign::kFunction) token.text = name;
      if (group.sign == Sign::kFunction) {
        token.detail = static_cast<std::uint8_t>(std::ranges::find(kFunctions, name) - std::begin(kFunctions));
      }
      table.emplace(word.substr(0, equals), token);
    }
  }
  return table;
}

std::optional<Token> find(const Table& table, std::string_view written) {
  const auto found = table.find(written);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

std::string_view trim(std::string_view text, std::string_view signs) {
  const auto first = text.find_first_not_of(signs);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(signs) - first + 1);
}

// The sign outside ASCII at the start of `text`, of two or three bytes: `length`.
std::optional<Token> find_sign(const Table& table, std::string_view text, std::size_t& length) {
  for (length = 2; length <= 3 && length <= text.size(); ++length) {
    if (auto found = find(table, text.substr(0, length))) return found;
  }
  return std::nullopt;
}

}  // namespace

std::string_view take_word(std::string_view& words) {
  words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(word.size());
  return word;
}

std::optional<Token> command(std::string_view name) {
  static const Table table = table_of(kCommands);
  return find(table, name);
}

std::optional<Token> plain_word(std::string_view word) {
  static const Table table = table_of(kWords);
  return find(table, word);
}

std::optional<Token> unicode_sign(std::string_view text, std::size_t& length) {
  static const Table table = table_of(kUnicode);
  return find_sign(table, text, length);
}

std::string_view spelled_out(std::string_view text, std::size_t& length) {
  static const Table table = table_of(kSpelledOut);
  const auto found = find_sign(table, text, length);
  return found ? found->text : std::string_view();
}

char small_sign(std::string_view text, char& kind, std::size_t& length) {
  static const Table table = table_of(kRaised);
  const auto found = find_sign(table, text, length);
  if (!found) return 0;
  const char here = found->sign == Sign::kCaret ? '^' : '_';
  if (kind != 0 && kind != here) return 0;
  kind = here;
  return found->text.front();
}

Sign conjunction(std::string_view text) {
  const std::string word = lower(trim(text, " ,;~\t\n"));
  if (word == "and") return Sign::kAnd;
  return word == "or" ? Sign::kOr : Sign::kEnd;
}

std::uint8_t meridiem(std::string_view text) {
  std::string word = lower(trim(text, " ~\t\n"));
  if (word.empty() || (word[0] != 'a' && word[0] != 'p')) return 0;
  const std::uint8_t half = word[0] == 'a' ? kMorning : kAfternoon;
  word.erase(0, 1);
  return word == ".m." || word == "m" || word == ".m" || word == ". m." ? half : 0;
}

}  // namespace math_answers
