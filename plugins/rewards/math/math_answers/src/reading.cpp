#include "reading.h"

#include "parser.h"
#include "units.h"
#include "vocabulary.h"

#include <algorithm>

namespace math_answers {
namespace {

using List = Tokens::List;

// Each list ends in kEnd.
std::size_t length(const List& list) { return list.size() - 1; }
Sign sign_at(const List& list, std::size_t i) { return i < list.size() ? list[i].sign : Sign::kEnd; }

bool is_separator(Sign sign) { return sign == Sign::kComma || sign == Sign::kAnd || sign == Sign::kOr; }

bool closes(Sign sign) {
  return sign == Sign::kCloseRound || sign == Sign::kCloseSquare || sign == Sign::kCloseBrace ||
         sign == Sign::kCloseSet || sign == Sign::kCloseBar || sign == Sign::kBar;
}

bool ends_value(Sign sign) {
  return closes(sign) || sign == Sign::kNumber || sign == Sign::kLetter || sign == Sign::kSymbol || sign == Sign::kPi ||
         sign == Sign::kClose || sign == Sign::kPercent || sign == Sign::kDegrees || sign == Sign::kCircle;
}

bool drop_end(List& list) {
  const std::size_t count = length(list);
  if (count < 2) return false;
  const Sign last = list[count - 1].sign;
  if (last != Sign::kFullStop && last != Sign::kComma) return false;
  list.erase(list.end() - 2);
  return true;
}

// Braces around the whole answer.
bool drop_braces(List& list) {
  const std::size_t count = length(list);
  if (count < 2 || list.front().sign != Sign::kOpenBrace || list[count - 1].sign != Sign::kCloseBrace) return false;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    depth += list[i].sign == Sign::kOpenBrace;
    depth -= list[i].sign == Sign::kCloseBrace;
    if (depth == 0) return false;
  }
  list.erase(list.end() - 2);
  list.erase(list.begin());
  return true;
}

bool drop_start(List& list) {
  const Token& first = list.front();
  if (length(list) < 2 || first.sign != Sign::kRelation) return false;
  if (first.relation() != Relation::kApproximately && first.relation() != Relation::kEqual) return false;
  list.erase(list.begin());
  return true;
}

// \phantom and what it leaves room for: braces, or one token.
void drop_phantoms(List& list) {
  List kept;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].sign != Sign::kPhantom) {
      kept.push_back(list[i]);
      continue;
    }
    ++i;
    int depth = 0;
    for (; i + 1 < list.size(); ++i) {
      depth += list[i].sign == Sign::kOpenBrace;
      depth -= list[i].sign == Sign::kCloseBrace;
      if (depth == 0) break;
    }
    if (depth > 0) throw Unreadable{"a brace is not closed"};
    if (i + 1 >= list.size()) kept.push_back(list.back());
  }
  list = kept;
}

// "5 or more" is another answer than 5.
bool goes_on(std::string_view text) { return text.starts_with("or ") || text.starts_with("and "); }

bool is_unit_token(const Token& token) {
  return token.sign == Sign::kUnit ||
         (token.sign == Sign::kText && token.detail == 0 && !multiplies(token.text) && !goes_on(token.text));
}

// Behind an exponent of a unit, ^2 or ^{-2}.
std::size_t skip_exponent(const List& list, std::size_t i) {
  if (sign_at(list, i) != Sign::kCaret) return i;
  if (sign_at(list, i + 1) == Sign::kNumber) return i + 2;
  if (sign_at(list, i + 1) != Sign::kOpenBrace) return i;
  const std::size_t digit = i + 2 + (sign_at(list, i + 2) == Sign::kMinus ? 1 : 0);
  return sign_at(list, digit) == Sign::kNumber && sign_at(list, digit + 1) == Sign::kCloseBrace ? digit + 2 : i;
}

std::size_t skip_unit(const List& list, std::size_t i);

// Behind the braces at `i` with nothing but a unit in them; `i` if there are none.
std::size_t skip_braced_unit(const List& list, std::size_t i) {
  if (sign_at(list, i) != Sign::kOpenBrace) return i;
  const std::size_t end = skip_unit(list, i + 1);
  return end > i + 1 && sign_at(list, end) == Sign::kCloseBrace ? end + 1 : i;
}

// Behind a fraction of units, \frac{km}{h}; `i` if none begins there.
std::size_t skip_unit_fraction(const List& list, std::size_t i) {
  if (sign_at(list, i) != Sign::kFraction) return i;
  const std::size_t below = skip_braced_unit(list, i + 1);
  if (below == i + 1) return i;
  const std::size_t end = skip_braced_unit(list, below);
  return end > below ? end : i;
}

// Behind the unit that begins at `i`: words, exponents, slashes and points between words, fractions. `i` if none does.
std::size_t skip_unit(const List& list, std::size_t i) {
  std::size_t end = i;
  for (std::size_t next = i;;) {
    const Sign here = sign_at(list, next);
    if (const std::size_t behind = skip_unit_fraction(list, next); behind > next) {
      end = next = behind;
    } else if (here != Sign::kEnd && is_unit_token(list[next])) {
      end = next = skip_exponent(list, next + 1);
    } else if (end > i && (here == Sign::kSlash || here == Sign::kTimes || here == Sign::kFullStop)) {
      ++next;
    } else {
      return end;
    }
  }
}

Measure measure_between(const List& list, std::size_t begin, std::size_t end) {
  Measure measure;
  for (std::size_t i = begin; i < end; ++i) {
    if (is_unit_token(list[i]) || list[i].sign == Sign::kLetter) measure.read(list[i].text);
    if (list[i].sign == Sign::kSlash || (list[i].sign == Sign::kOpenBrace && list[i - 1].sign == Sign::kCloseBrace)) {
      measure.divide();
    }
    if (list[i].sign == Sign::kNumber && list[i].text.size() == 1) {
      const int exponent = list[i].text.front() - '0';
      measure.raise(list[i - 1].sign == Sign::kMinus ? -exponent : exponent);
    }
  }
  if (begin > 0) measure.measures(list[begin - 1].text);
  return measure;
}

// C and F behind a degree sign.
bool is_scale(const List& list, std::size_t i) {
  if (i == 0 || list[i].sign != Sign::kLetter || (list[i].text != "C" && list[i].text != "F")) return false;
  const Sign before = list[i - 1].sign;
  return before == Sign::kDegrees || before == Sign::kCircle ||
         (before == Sign::kCloseBrace && i > 1 && list[i - 2].sign == Sign::kCircle);
}

void keep(Measure measure, std::vector<Measure>& measures) {
  if (!measure.empty()) measures.push_back(std::move(measure));
}

// Signs of a currency, percent and degrees; not those within a sine, which are a number.
void find_marks(const Tokens& tokens, std::vector<Measure>& measures) {
  const List& list = tokens.list();
  const auto mark = [&](std::string_view name) {
    Measure measure;
    measure.name(name);
    keep(std::move(measure), measures);
  };
  const auto has = [&](Sign sign) { return std::ranges::find(list, sign, &Token::sign) != list.end(); };
  if (!tokens.currency().empty()) mark(tokens.currency());
  if (has(Sign::kPercent)) mark("percent");
  if ((has(Sign::kDegrees) || has(Sign::kCircle)) && !has(Sign::kFunction)) mark("degree");
}

void drop_units(List& list, std::vector<Measure>& measures) {
  List kept;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool may_begin = !kept.empty() && ends_value(kept.back().sign);
    const std::size_t behind = may_begin ? std::max(i + (is_scale(list, i) ? 1 : 0), skip_unit(list, i)) : i;
    if (behind > i) {
      const Sign next = sign_at(list, behind);
      if (next == Sign::kEnd || is_separator(next) || closes(next) || next == Sign::kRelation ||
          next == Sign::kAmpersand || next == Sign::kRowEnd) {
        keep(measure_between(list, i, behind), measures);
        i = behind;
      }
    }
    kept.push_back(list[i]);
  }
  list = kept;
}

// "5 m" and "5 m^2", where the rest is a plain number.
bool drop_short_unit(List& list, std::vector<Measure>& measures) {
  const std::size_t letters = std::ranges::count_if(list, [](const Token& token) {
    return token.sign == Sign::kLetter || token.sign == Sign::kSymbol || token.sign == Sign::kText;
  });
  if (letters != 1) return false;
  const auto unit = std::ranges::find(list, Sign::kLetter, &Token::sign);
  if (unit == list.end() || unit == list.begin() || !unit->spaced || !is_short_unit(unit->text.front())) return false;
  const Sign before = (unit - 1)->sign;
  const auto at = static_cast<std::size_t>(unit - list.begin());
  if ((before != Sign::kNumber && before != Sign::kCloseBrace) || skip_exponent(list, at + 1) != length(list)) {
    return false;
  }
  keep(measure_between(list, at, length(list)), measures);
  list.erase(unit, list.end() - 1);
  return true;
}

// One separator where several follow each other, none at the start.
void merge_separators(List& list) {
  List kept;
  for (const Token& token : list) {
    if (is_separator(token.sign)) {
      if (kept.empty()) continue;
      if (is_separator(kept.back().sign)) {
        if (token.sign != Sign::kComma) kept.back() = token;
        continue;
      }
    }
    kept.push_back(token);
  }
  list = kept;
}

// Take away what says nothing about the value: outer braces, a last full stop or comma, a leading \approx, units,
// doubled separators. Whether a letter was taken for a unit.
bool tidy(Tokens& tokens, ShortUnits short_units, std::vector<Measure>& measures) {
  List& list = tokens.list();
  constexpr int kWrappings = 8;
  for (int i = 0; i < kWrappings && (drop_end(list) || drop_braces(list) || drop_start(list)); ++i) continue;
  const auto has = [&](auto wanted) { return std::ranges::any_of(list, wanted, &Token::sign); };
  if (has([](Sign sign) { return sign == Sign::kPhantom; })) drop_phantoms(list);
  if (has([](Sign sign) {
        return sign == Sign::kText || sign == Sign::kUnit || sign == Sign::kDegrees || sign == Sign::kCircle;
      })) {
    drop_units(list, measures);
    drop_end(list);
  }
  rewrite_notations(tokens);
  if (has(is_separator)) merge_separators(list);
  find_marks(tokens, measures);
  return short_units == ShortUnits::kDrop && drop_short_unit(list, measures);
}

// Whether letters stand side by side, as in words.
bool has_words(const Tokens& tokens) {
  const List& list = tokens.list();
  return std::ranges::adjacent_find(list, [](const Token& a, const Token& b) {
           return a.sign == Sign::kLetter && b.sign == Sign::kLetter && !b.spaced;
         }) != list.end();
}

// Whether the answer is nothing but one word in letters, such as LQSX or None: three or more of them, all capitals or
// with only the first a capital. Longer products are not written like that.
bool is_bare_word(const Tokens& tokens) {
  const List& list = tokens.list();
  const std::size_t count = length(list);
  if (count < 3) return false;
  std::size_t capitals = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (list[i].sign != Sign::kLetter || (i > 0 && list[i].spaced)) return false;
    capitals += list[i].text.front() <= 'Z';
  }
  return capitals == count || (capitals == 1 && list[0].text.front() <= 'Z');
}

bool is_word_sign(char c) { return is_letter(c) || is_digit(c); }

Place read(std::string_view text, ShortUnits short_units, Tokens& tokens, Tree& tree, Reading& reading) {
  tokens.read(text);
  reading.short_unit = tidy(tokens, short_units, reading.measures);
  if (tokens[0].sign == Sign::kEnd) throw Unreadable{"empty"};
  if (is_bare_word(tokens)) return tree.add(Kind::kText, 0, "word");
  const auto& list = tokens.list();
  const bool text_only =
      std::all_of(list.begin(), list.end() - 1, [](const Token& one) { return one.sign == Sign::kText; });
  if (!text_only) return Parser(tokens, tree).answer();
  if (tokens[1].sign != Sign::kEnd) return tree.add(Kind::kText, 0, "word");
  // The whole answer is one \text{}: mathematics, unless there are words in it.
  const std::string_view content = tokens[0].text;
  try {
    tokens.read(content);
    tidy(tokens, short_units, reading.measures);
    if (!has_words(tokens) && tokens[0].sign != Sign::kEnd) return Parser(tokens, tree).answer();
  } catch (const Unreadable&) {
  }
  return tree.add(Kind::kText, 0, "word");
}

}  // namespace

Reading read_answer(std::string_view text, ShortUnits short_units, Tokens& tokens, Tree& tree) {
  Reading reading;
  try {
    reading.root = read(text, short_units, tokens, tree, reading);
  } catch (const Unreadable& unreadable) {
    reading.reason = unreadable.reason;
  }
  return reading;
}

std::string squeezed(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (is_space(text[i]) || text[i] == '$') {
      // "1 2" is not "12".
      const auto next = std::ranges::find_if_not(rest, [](char c) { return is_space(c) || c == '$'; });
      if (!kept.empty() && is_word_sign(kept.back()) && next != rest.end() && is_word_sign(*next)) kept += ' ';
      i += static_cast<std::size_t>(next - rest.begin()) - 1;
    } else if (rest.starts_with("\\left") && (rest.size() < 6 || !is_letter(rest[5]))) {
      i += 4;
    } else if (rest.starts_with("\\right") && (rest.size() < 7 || !is_letter(rest[6]))) {
      i += 5;
    } else {
      kept += text[i];
    }
  }
  if (!kept.empty() && kept.back() == '.') kept.pop_back();
  return kept;
}

std::string words(std::string_view text) {
  std::string kept;
  const auto space = [&] {
    if (!kept.empty() && kept.back() != ' ') kept += ' ';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      if (i + 1 < text.size() && !is_letter(text[i + 1])) {
        ++i;
        space();
        continue;
      }
      while (i + 1 < text.size() && is_letter(text[i + 1])) ++i;
    } else if (is_space(c) || c == '~') {
      space();
    } else if (c != '{' && c != '}' && c != '$' && c != '"') {
      kept += to_lower(c);
    }
  }
  while (!kept.empty() && (kept.back() == ' ' || kept.back() == '.' || kept.back() == ',')) kept.pop_back();
  return kept;
}

}  // namespace math_answers
