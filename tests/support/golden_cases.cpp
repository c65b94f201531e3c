#include "tests/support/golden_cases.h"

#include "tests/support/support.h"

#include <charconv>

namespace drift::test {
namespace {

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

double to_number(const std::string& word) {
  if (word == "-") return std::numeric_limits<double>::quiet_NaN();
  const char* end = word.data() + word.size();
  double value = 0;
  const auto result = std::from_chars(word.data() + (word.front() == '+'), end, value);
  if (result.ec != std::errc() || result.ptr != end) throw std::runtime_error("`" + word + "` is not a number");
  return value;
}

/// "case NAME, key value, key value"
GoldenCase parse_heading(std::string_view line) {
  GoldenCase parsed;
  std::istringstream parts{std::string(line.substr(std::string_view("case ").size()))};
  std::string part;
  std::getline(parts, part, ',');
  parsed.name = trimmed(part);
  if (parsed.name.empty()) throw std::runtime_error("the case has no name");
  while (std::getline(parts, part, ',')) {
    std::istringstream words(part);
    std::string key, value, rest;
    if (!(words >> key >> value) || words >> rest)
      throw std::runtime_error("a setting is `key value`, not `" + trimmed(part) + "`");
    if (!parsed.settings.emplace(key, value).second) throw std::runtime_error("setting `" + key + "` is given twice");
  }
  return parsed;
}

void parse_row(const std::string& line, GoldenCase& into) {
  std::istringstream words(line);
  std::string name, word;
  words >> name;
  std::vector<double> values;
  while (words >> word) values.push_back(to_number(word));
  if (!into.rows.emplace(name, values).second) throw std::runtime_error("row `" + name + "` is given twice");
}

}  // namespace

const std::vector<double>& GoldenCase::row(const std::string& row_name) const {
  const auto found = rows.find(row_name);
  if (found == rows.end()) throw std::runtime_error("case `" + name + "` has no row `" + row_name + "`");
  return found->second;
}

double GoldenCase::number(const std::string& row_name) const {
  const auto& values = row(row_name);
  if (values.size() != 1) throw std::runtime_error("row `" + row_name + "` of case `" + name + "` is not one number");
  return values.front();
}

std::vector<GoldenCase> parse_golden_cases(std::string_view text, const std::string& origin) {
  std::vector<GoldenCase> cases;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.erase(std::find(line.begin(), line.end(), '#'), line.end());
    if (trimmed(line).empty()) continue;
    try {
      if (line.rfind("case ", 0) == 0) {
        cases.push_back(parse_heading(line));
      } else if (line.front() != ' ' || cases.empty()) {
        throw std::runtime_error("expected `case NAME, key value` or an indented row");
      } else {
        parse_row(line, cases.back());
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(origin + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  return cases;
}

std::vector<GoldenCase> read_golden_cases(const std::string& file) {
  const auto path = source_dir() / "tests" / "golden" / file;
  return parse_golden_cases(read_file(path), path.string());
}

const GoldenCase& find_case(const std::vector<GoldenCase>& cases, const std::string& name) {
  for (const GoldenCase& candidate : cases) {
    if (candidate.name == name) return candidate;
  }
  throw std::runtime_error("there is no case `" + name + "`");
}

}  // namespace drift::test
