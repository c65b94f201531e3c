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

// The word before the letter in "Option B".
bool take_title(std::string_view& text) {
  for (const std::string_view title :
       {"Option", "option", "Choice", "choice", "Answer:", "answer:", "Answer", "answer"}) {
    if (take(text, title)) return true;
  }
  return false;
}

bool begins_value(std::string_view text) {
  const char first = text.front();
  return is_letter(first) || first == '\\' || first == '-' || first == '(' || first == '[';
}

// Whether another letter follows: (B) and (C).
bool joins_another(std::string_view text) {
  for (const std::string_view joint : {"\\text{ and", "\\text{ or", "\\text{and", "\\text{or", "and ", "or "}) {
    if (text.starts_with(joint)) return true;
  }
  const bool letter_in_brackets = text.size() > 2 && text[0] == '(' && is_letter(text[1]) && text[2] == ')';
  return letter_in_brackets || choice(text).letter.size() == 1;
}

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

}  // namespace

std::string undecorated(std::string_view text) {
  std::string kept(text);
  for (const std::string command : {"\\textcolor", "\\color", "\\colorbox", "\\hspace"}) {
    for (std::size_t at = 0; (at = kept.find(command, at)) != std::string::npos; ++at) {
      const std::size_t close = kept.find('}', at);
      const char next = kept[at + command.size()];
      if (close != std::string::npos && (next == '{' || next == '[')) kept.replace(at, close + 1 - at, " ");
    }
  }
  return kept;
}

std::string undoubled(std::string_view text) {
  if (!is_doubled(text)) return std::string(text);
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    kept += text[i];
    if (text[i] == '\\') ++i;
  }
  return kept;
}

// Without a command around it the letter needs a sign behind it, a space, and a number: (B) 12. Otherwise it is a
// variable.
Choice choice(std::string_view text) {
  take_spaces(text);
  const bool closed = text.starts_with('$') && text.ends_with('$') && text.size() > 1;
  if (closed) text = text.substr(1, text.size() - 2);
  take_spaces(text);
  bool styled = take_text_command(text);
  take_spaces(text);
  const bool named = take_title(text);
  bool open = styled;  // the braces of a command
  if (named && take_spaces(text) && open && take(text, "}")) open = false;
  if (named && !open && take_text_command(text)) open = styled = true;
  const bool bracket = take(text, "(");
  if (text.empty() || text.front() < 'A' || text.front() > 'Z') return {};
  const std::string_view letter = text.substr(0, 1);
  text.remove_prefix(1);
  const std::string_view behind = text;
  const bool marked = take(text, ")") || (!bracket && (take(text, ".") || take(text, ":")));
  if (bracket && !marked) return {};
  bool spaced = take_spaces(text);
  const bool braced = open && take(text, "}");
  if (named && text.empty() && braced == open) return {letter, letter};
  if (open && !braced) {
    // \text{(B) 12}: everything is in the braces.
    if (!marked || !spaced || !text.ends_with('}') || text.find('{') != std::string_view::npos) return {};
    text.remove_suffix(1);
  }
  spaced = take_spaces(text) || spaced;
  if (text.empty() || !(spaced || styled)) return {};
  const bool number = is_digit(text.front()) || text.front() == '$' || text.starts_with("\\$");
  if (!marked && !(braced && number && spaced)) return {};
  if (!marked && behind.front() != '}') return {};
  if (!number && !(styled && begins_value(text))) return {};
  return joins_another(text) ? Choice() : Choice{letter, text};
}

}  // namespace math_answers
