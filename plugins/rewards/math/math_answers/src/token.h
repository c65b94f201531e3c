#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace math_answers {

// Classes of ASCII signs, the same in every locale.

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = to_lower(c);
  return small;
}

constexpr bool all_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

enum class Sign : std::uint8_t {
  kEnd,
  kSkipped,  ///< says nothing about the value: \displaystyle
  kSpace,
  // values
  kNumber,  ///< text: digits, at most one point, repeating digits in round brackets, exponent after E: "0.1(6)",
            ///< "1.5E-4"
  kLetter,
  kSymbol,    ///< text: its name, for example "alpha"
  kText,      ///< text: the content of \text{} and its like; detail: 1 if in bold or italics, which no unit is
  kUnit,      ///< a word such as cm
  kMeridiem,  ///< detail: kMorning or kAfternoon
  kPi,
  kInfinity,
  kReals,
  kEmptySet,
  // operators
  kPlus,
  kMinus,
  kPlusMinus,
  kMinusPlus,
  kTimes,
  kSlash,
  kColon,
  kCaret,
  kUnderscore,
  kFactorial,
  kPrime,
  kPercent,
  kModulo,
  kCircle,    ///< \circ, stands in an exponent
  kDegrees,   ///< the word, or the sign
  kRelation,  ///< detail: Relation
  kUnion,
  kIntersection,
  kDifference,
  // punctuation
  kComma,
  kAnd,
  kOr,
  kFullStop,
  kAmpersand,
  kRowEnd,
  kRule,  ///< \hline
  kOpenRound,
  kCloseRound,
  kOpenSquare,
  kCloseSquare,
  kOpenBrace,
  kCloseBrace,
  kOpenSet,
  kCloseSet,
  kBar,
  kOpenBar,
  kCloseBar,
  kOpenFloor,
  kCloseFloor,
  kOpenCeiling,
  kCloseCeiling,
  // commands with arguments
  kFraction,
  kBinomial,
  kChoose,
  kOver,
  kRoot,
  kFunction,  ///< detail: Function
  kPhantom,
  kAccent,  ///< \overline, \vec; text: its name
  kBegin,   ///< text: the environment
  kClose,   ///< \end; text: the environment
  // only in the tables: what the lexer keeps to itself, and commands that it reads together with their arguments
  kCurrency,  ///< text: its name
  kNotANumber,
  kLeft,
  kRight,
  kTextCommand,
  kBlackboard,
};

enum class Relation : std::uint8_t {
  kNone,
  kEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kNotEqual,
  kMember,
  kApproximately
};

enum class Function : std::uint8_t {
  kSin,
  kCos,
  kTan,
  kCot,
  kSec,
  kCsc,
  kArcsin,
  kArccos,
  kArctan,
  kArccot,
  kArcsec,
  kArccsc,
  kSinh,
  kCosh,
  kTanh,
  kCoth,
  kSech,
  kCsch,
  kLn,
  kLog,  ///< base 10 unless one is written
  kExp,
  kGcd,
  kLcm,
  kMax,
  kMin,
  kDet
};

constexpr std::uint8_t kMorning = 1;
constexpr std::uint8_t kAfternoon = 2;

struct Token {
  Sign sign = Sign::kEnd;
  std::uint8_t detail = 0;
  bool spaced = false;  ///< white space stands before it
  std::string_view text = {};

  Relation relation() const { return static_cast<Relation>(detail); }
  Function function() const { return static_cast<Function>(detail); }
};

}  // namespace math_answers
