#include "blocks.h"

#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <algorithm>

namespace drift::code {
namespace {

void remove_indentation(std::vector<std::string>& lines) {
  const auto first = std::ranges::find_if(lines, [](const std::string& line) {
    const std::string text = boost::trim_copy(line);
    return !text.empty() && text.front() != '#';
  });
  if (first == lines.end()) return;
  const std::string indent = first->substr(0, first->find_first_not_of(" \t"));
  for (std::string& line : lines) line.erase(0, std::ranges::mismatch(line, indent).in1 - line.begin());
}

bool has_prompt(const std::string& line) { return line.starts_with(">>>") || line.starts_with("..."); }

void remove_prompts(std::vector<std::string>& lines) {
  const auto first =
      std::ranges::find_if(lines, [](const std::string& line) { return !boost::trim_copy(line).empty(); });
  if (first == lines.end() || !first->starts_with(">>>")) return;
  std::erase_if(lines, [](const std::string& line) { return !has_prompt(line); });
  for (std::string& line : lines) line.erase(0, line.starts_with(">>> ") || line.starts_with("... ") ? 4 : 3);
  lines.emplace_back();
}

}  // namespace

std::string plain_code(const std::string& code) {
  std::vector<std::string> lines;
  boost::split(lines, code, [](char c) { return c == '\n'; });
  remove_indentation(lines);
  remove_prompts(lines);
  return boost::join(lines, "\n");
}

}  // namespace drift::code
