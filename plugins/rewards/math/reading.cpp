#include "reading.h"

#include <algorithm>

#include "ascii.h"
#include "parser.h"

namespace math_reward {
namespace {

bool is_word_sign(char c) { return is_letter(c) || is_digit(c); }

Place read(std::string_view text, ShortUnits short_units, Tokens& tokens, Tree& tree, bool& short_unit) {
  tokens.read(text);
  short_unit = tidy(tokens, short_units);
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
    tidy(tokens, short_units);
    if (!has_words(tokens) && tokens[0].sign != Sign::kEnd) return Parser(tokens, tree).answer();
  } catch (const Unreadable&) {
  }
  return tree.add(Kind::kText, 0, "word");
}

}  // namespace

Reading read_answer(std::string_view text, ShortUnits short_units, Tokens& tokens, Tree& tree) {
  Reading reading;
  try {
    reading.root = read(text, short_units, tokens, tree, reading.short_unit);
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

}  // namespace math_reward
