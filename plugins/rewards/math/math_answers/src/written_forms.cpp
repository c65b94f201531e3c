// How an answer may be written down, before it is read as mathematics.

#include "reading.h"
#include "vocabulary.h"

#include <algorithm>

namespace math_answers {
namespace {

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

// Spaces of all kinds; whether there were any.
bool take_spaces(std::string_view& text) {
  const std::size_t before = text.size();
  while (!text.empty()) {
    if (is_space(text.front()) || text.front() == '~') {
      text.remove_prefix(1);
    } else if (!take(text, "\\ ") && !take(text, "\\,") && !take(text, "\\;") && !take(text, "\\quad") &&
               !take(text, "\\qquad")) {
      break;
    }
  }
  return text.size() < before;
}

bool take_text_command(std::string_view& text) {
  for (const std::string_view command :
       {"\\textbf", "\\text", "\\textrm", "\\textit", "\\mathbf", "\\mathrm", "\\mbox", "\\bold", "\\boldsymbol"}) {
    std::string_view rest = text;
    if (!take(rest, command)) continue;
    take_spaces(rest);
    if (!take(rest, "{")) continue;
    text = rest;
    return true;
  }
  return false;
}

}  // namespace

bool is_doubled(std::string_view text) {
  bool names_command = false;
  for (std::size_t i = text.find('\\'); i != std::string_view::npos; i = text.find('\\', i)) {
    const std::size_t end = std::min(text.find_first_not_of('\\', i), text.size());
    if ((end - i) % 2 != 0) return false;
    const std::string_view rest = text.substr(end);
    const auto letters = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_letter) - rest.begin());
    const std::string_view name = rest.substr(0, letters > 0 ? letters : 1);
    const bool is_sign = name == "{" || name == "%" || name == "$";
    names_command = names_command || is_sign || (letters > 1 && command(name));
    i = end;
  }
  return names_command;
}

std::string undoubled(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    kept += text[i];
    if (text[i] == '\\') ++i;
  }
  return kept;
}

// Without a command around it the letter needs a space behind, and a number: (B) 12. Otherwise it is a variable.
Choice choice(std::string_view text) {
  take_spaces(text);
  const bool closed = text.starts_with('$') && text.ends_with('$') && text.size() > 1;
  if (closed) text = text.substr(1, text.size() - 2);
  take_spaces(text);
  const bool styled = take_text_command(text);
  take_spaces(text);
  const bool bracket = take(text, "(");
  if (text.empty() || text.front() < 'A' || text.front() > 'Z') return {};
  const std::string_view letter = text.substr(0, 1);
  text.remove_prefix(1);
  if (bracket ? !take(text, ")") : !(take(text, ")") || (styled && (take(text, ".") || take(text, ":"))))) return {};
  const bool spaced = take_spaces(text);
  if (styled && !take(text, "}")) return {};
  if (!(take_spaces(text) || spaced || styled) || text.empty()) return {};
  const char first = text.front();
  const bool value = is_digit(first) || first == '$' || (styled && (is_letter(first) || first == '\\' || first == '-'));
  if (!value || text.starts_with("\\text{ and") || text.starts_with("\\text{ or") || text.starts_with("and ") ||
      text.starts_with("or ") || text.starts_with("\\text{and") || text.starts_with("\\text{or") ||
      choice(text).letter.size() == 1) {
    return {};
  }
  return {letter, text};
}

}  // namespace math_answers
