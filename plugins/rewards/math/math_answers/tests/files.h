#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace math_answers::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The folder of these tests.
inline std::filesystem::path folder() { return MATH_ANSWERS_TESTS; }

struct Answer {
  std::string shape;
  std::string truth;
  std::vector<std::string> equal;
  std::vector<std::string> unequal;
};

/// A file of answers: a line `shape NAME` or `form NAME`, then `answer ANSWER`, `= EQUAL` and `! ANOTHER`.
inline std::vector<Answer> read_answers(const std::string& file) {
  std::istringstream lines(read_file(folder() / file));
  std::vector<Answer> answers;
  std::string shape;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    const std::string kind = line.substr(0, space);
    if (line.empty() || kind == "#") continue;
    const std::string rest = line.substr(space + 1);
    if (kind == "shape" || kind == "form") {
      shape = rest;
    } else if (kind == "answer") {
      answers.push_back({shape, rest, {}, {}});
    } else if (kind == "=") {
      answers.back().equal.push_back(rest);
    } else if (kind == "!") {
      answers.back().unequal.push_back(rest);
    } else {
      throw std::runtime_error(file + ": a line begins with `" + kind + "`");
    }
  }
  return answers;
}

/// A file of a published data set; it may be missing.
inline std::filesystem::path data_file(const std::string& name) {
  const char* data = std::getenv("MATH_ANSWERS_DATA");
  return std::filesystem::path(data == nullptr ? "" : data) / name;
}

}  // namespace math_answers::test
