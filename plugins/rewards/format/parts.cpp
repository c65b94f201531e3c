#include "parts.h"

#include <boost/algorithm/string/find.hpp>
#include <boost/algorithm/string/predicate.hpp>

#include <algorithm>
#include <vector>

namespace format {
namespace {

constexpr std::string_view kSpaces = " \t\r\n\v\f";

// From the text's front, without its line end.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::string_view without_spaces_around(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

bool opens_python(std::string_view line) {
  if (!line.starts_with("```")) return false;
  const std::string_view language = without_spaces_around(line.substr(3));
  return boost::iequals(language, "python") || boost::iequals(language, "py") || boost::iequals(language, "python3");
}

}  // namespace

Finding find_box(std::string_view response) {
  std::vector<bool> open;  // the braces that are open, and whether each is a box's
  bool is_there = false, last_is_closed = false;
  for (std::size_t i = 0; i < response.size(); ++i) {
    if (response[i] == '\\') {
      ++i;  // a brace after it is an ordinary character
    } else if (response[i] == '{') {
      std::string_view before = response.substr(0, i);
      before = before.substr(0, before.find_last_not_of(kSpaces) + 1);
      open.push_back(before.ends_with("\\boxed") || before.ends_with("\\fbox"));
      if (open.back()) is_there = true, last_is_closed = false;
    } else if (response[i] == '}' && !open.empty()) {
      if (open.back()) last_is_closed = true;
      open.pop_back();
    }
  }
  if (!is_there) return {0, "there is no \\boxed{}"};
  return last_is_closed ? Finding{1, "the last \\boxed{} is closed"} : Finding{0, "the last \\boxed{} is not closed"};
}

Finding find_answer_tags(std::string_view response) {
  const auto open = boost::algorithm::ifind_last(response, "<answer>");
  if (open.empty()) return {0, "there is no <answer>"};
  const bool is_closed = boost::algorithm::icontains(std::string_view(open.end(), response.end()), "</answer>");
  return is_closed ? Finding{1, "the last <answer> is closed"} : Finding{0, "the last <answer> is not closed"};
}

Finding find_code_block(std::string_view response) {
  bool inside = false, is_python = false, is_there = false;
  while (!response.empty()) {
    const std::string_view line = take_line(response);
    if (inside) {
      inside = without_spaces_around(line) != "```";
    } else if (line.starts_with("```")) {
      inside = true;
      is_python = opens_python(line);
      is_there = is_there || is_python;
    }
  }
  if (!is_there) return {0, "there is no ```python block"};
  const bool is_open = inside && is_python;
  return is_open ? Finding{0, "the last ```python block is not closed"} : Finding{1, "the ```python block is closed"};
}

}  // namespace format
