// Notations of some countries and programs, rewritten as tokens of the usual ones.

#include "reading.h"

#include <algorithm>

namespace math_answers {
namespace {

using List = Tokens::List;

bool ends_bracket(Sign sign) { return sign == Sign::kCloseRound || sign == Sign::kCloseSquare; }
bool begins_bracket(Sign sign) { return sign == Sign::kOpenRound || sign == Sign::kOpenSquare; }

bool joins(Sign sign) {
  return sign == Sign::kUnion || sign == Sign::kIntersection || sign == Sign::kDifference || sign == Sign::kComma ||
         sign == Sign::kAnd || sign == Sign::kOr;
}

// ]2, 5[ is (2, 5): a bracket that opens where a value ends, or closes where one begins.
void turn_brackets(List& list) {
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    const Sign before = i == 0 ? Sign::kUnion : list[i - 1].sign;
    const Sign behind = list[i + 1].sign;
    if (list[i].sign == Sign::kCloseSquare && (joins(before) || before == Sign::kRelation)) {
      list[i].sign = Sign::kOpenRound;
    } else if (list[i].sign == Sign::kOpenSquare && (joins(behind) || behind == Sign::kEnd)) {
      list[i].sign = Sign::kCloseRound;
    }
  }
}

// (1, 2) U (3, 4), and 5 x 10^3.
void read_letters_as_signs(List& list) {
  for (std::size_t i = 1; i + 2 < list.size(); ++i) {
    if (list[i].sign != Sign::kLetter) continue;
    const Token& before = list[i - 1];
    const Token& behind = list[i + 1];
    if (list[i].text == "U" && ends_bracket(before.sign) && begins_bracket(behind.sign)) {
      list[i].sign = Sign::kUnion;
    } else if (list[i].text == "x" && list[i].spaced && behind.spaced && before.sign == Sign::kNumber &&
               behind.sign == Sign::kNumber && behind.text == "10" && list[i + 2].sign == Sign::kCaret) {
      list[i].sign = Sign::kTimes;
    }
  }
}

// The rows of equations in an environment, and equations in the braces of a set, are a list of equations.
void unwrap_system(List& list) {
  const auto is = [](auto... wanted) {
    return [wanted...](const Token& token) { return ((token.sign == wanted) || ...); };
  };
  if (list.size() < 5 || std::ranges::none_of(list, is(Sign::kRelation))) return;
  List inner(list.begin(), list.end() - 1);
  const bool braced = inner.front().sign == Sign::kOpenSet;
  if (braced) inner.erase(inner.begin());
  const bool rows = inner.front().sign == Sign::kBegin;
  if (rows) {
    if (inner.front().text.find("matrix") != std::string_view::npos || inner.back().sign != Sign::kClose) return;
    inner = List(inner.begin() + 1, inner.end() - 1);
    if (!inner.empty() && inner.back().sign == Sign::kRowEnd) inner.pop_back();
    inner.erase(std::remove_if(inner.begin(), inner.end(), is(Sign::kAmpersand)), inner.end());
    for (Token& token : inner) {
      if (token.sign == Sign::kRowEnd) token = {Sign::kComma};
    }
  } else if (braced && inner.back().sign == Sign::kCloseSet) {
    inner.pop_back();
  } else {
    return;
  }
  const auto equal = [](const Token& token) {
    return token.sign != Sign::kRelation || token.relation() == Relation::kEqual;
  };
  const bool nested = std::ranges::any_of(
      inner, is(Sign::kBegin, Sign::kOpenSet, Sign::kCloseSet, Sign::kBar, Sign::kColon, Sign::kText, Sign::kOr));
  if (inner.empty() || nested || !std::ranges::all_of(inner, equal)) return;
  inner.push_back({Sign::kEnd});
  list = inner;
}

}  // namespace

void rewrite_notations(Tokens& tokens) {
  List& list = tokens.list();
  turn_brackets(list);
  read_letters_as_signs(list);
  unwrap_system(list);
}

}  // namespace math_answers
