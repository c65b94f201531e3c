#include "parts.h"

#include <drift/answers.h>

#include <boost/algorithm/string/predicate.hpp>

#include <algorithm>

namespace drift::format {
namespace {

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
  const MarkedAnswer box = last_box(response);
  if (!box.opened) return {0, "there is no \\boxed{}"};
  return box.closed ? Finding{1, "the last \\boxed{} is closed"} : Finding{0, "the last \\boxed{} is not closed"};
}

Finding find_answer_tags(std::string_view response) {
  const MarkedAnswer block = last_answer_block(response);
  if (!block.opened) return {0, "there is no <answer>"};
  return block.closed ? Finding{1, "the last <answer> is closed"} : Finding{0, "the last <answer> is not closed"};
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

}  // namespace drift::format
