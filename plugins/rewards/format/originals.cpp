#include "originals.h"

#include "parts.h"

#include <unicode/utf8.h>

#include <algorithm>

namespace drift::format {
namespace {

constexpr auto npos = std::string_view::npos;

// The place after the first `literal` at or after `from`; nowhere if a line end that is not allowed comes before it.
std::size_t behind(std::string_view text, std::size_t from, std::string_view literal, bool one_line) {
  const std::size_t at = text.find(literal, from);
  if (at == npos || (one_line && text.substr(from, at - from).find('\n') != npos)) return npos;
  return at + literal.size();
}

// What Python's split makes of a text.
struct Pieces {
  int separators = 0;
  std::string_view last;
};
Pieces split(std::string_view text, std::string_view separator) {
  Pieces pieces{0, text};
  for (std::size_t at; (at = pieces.last.find(separator)) != npos; ++pieces.separators) {
    pieces.last.remove_prefix(at + separator.size());
  }
  return pieces;
}

double characters(std::string_view text) {
  const auto begins = [](char c) { return !U8_IS_TRAIL(c); };
  return static_cast<double>(std::count_if(text.begin(), text.end(), begins));
}

}  // namespace

double rldf_release_boxed(std::string_view response) { return response.find("\\boxed{") != npos ? 1 : 0; }

double d1_strict(std::string_view response, bool published) {
  constexpr std::string_view begin = "<reasoning>\n";
  if (!response.starts_with(begin)) return 0;
  const std::size_t answer = behind(response, begin.size(), "\n</reasoning>\n<answer>\n", published);
  if (answer == npos) return 0;
  std::string_view rest = response.substr(answer);
  constexpr std::string_view end = "\n</answer>\n";
  if (rest.ends_with("\n\n")) rest.remove_suffix(1);  // $ lets one line end follow
  if (!rest.ends_with(end)) return 0;
  rest.remove_suffix(end.size());
  return published && rest.find('\n') != npos ? 0 : 1;
}

double d1_soft(std::string_view response, bool published) {
  constexpr std::string_view begin = "<reasoning>", open = "<answer>", close = "</answer>";
  if (!response.starts_with(begin)) return 0;
  std::size_t searched = 0;  // there is no `close` between an `open` before this and this
  for (std::size_t at = begin.size(); (at = behind(response, at, "</reasoning>", published)) != npos;) {
    const std::size_t answer = std::min(response.find_first_not_of(kSpaces, at), response.size());
    if (answer < searched || !response.substr(answer).starts_with(open)) continue;
    searched = published ? std::min(response.find('\n', answer), response.size()) : response.size();
    if (response.substr(answer, searched - answer).find(close) != npos) return 1;
  }
  return 0;
}

double d1_xml_count(std::string_view response) {
  const Pieces opened = split(response, "\n<answer>\n"), closed = split(response, "\n</answer>");
  double count = 0;
  if (split(response, "<reasoning>\n").separators == 1) count += 0.125;
  if (split(response, "\n</reasoning>\n").separators == 1) count += 0.125;
  if (opened.separators == 1) count += 0.125 - 0.001 * characters(split(response, "\n</answer>\n").last);
  if (closed.separators == 1) count += 0.125 - 0.001 * (characters(closed.last) - 1);
  return std::clamp(count / 0.5, 0.0, 1.0);
}

double d1_integer(std::string_view response) {
  std::string_view answer = split(response, "<answer>").last;
  answer = answer.substr(0, answer.find("</answer>"));
  answer.remove_prefix(std::min(answer.find_first_not_of(kSpaces), answer.size()));
  answer = answer.substr(0, answer.find_last_not_of(kSpaces) + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !answer.empty() && std::all_of(answer.begin(), answer.end(), is_digit) ? 1 : 0;
}

double d1_boxed_in_answer(std::string_view response, bool published) {
  constexpr std::string_view tag = "<answer>";
  const std::size_t open = response.find(tag);
  if (open != npos) {
    response.remove_prefix(open + tag.size());
    response = response.substr(0, std::min(response.find(tag), response.find("</answer>")));
  }
  // The original's name of the box begins with a backspace where a backslash was meant.
  const bool is_boxed = response.find(published ? "\boxed" : "\\boxed") != npos;
  return (open != npos ? 0.5 : 0) + (is_boxed ? 0.5 : 0.25);
}

}  // namespace drift::format
