#pragma once

// Programs with the tests that judge them, from text files (tests/unit/code_cheats.txt says how they are written).

#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <ostream>

#include "tests/support/support.h"

namespace drift::test {

struct CodeCase {
  std::string name;      ///< GROUP_NAME
  std::string expected;  ///< what follows the name
  std::string code = {};
  std::vector<std::string> tests = {};
  std::string around = {};  ///< a piece of code with a place for the case's; empty: none
};

inline void PrintTo(const CodeCase& one, std::ostream* out) { *out << one.name; }

inline std::vector<CodeCase> read_code_cases(const std::string& file) {
  std::istringstream lines(read_file(source_dir() / "tests/unit" / file));
  std::map<std::string, std::string> pieces;
  std::vector<CodeCase> cases;
  std::string group;
  std::string* text = nullptr;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark, name, rest;
    words >> mark >> name;
    std::getline(words >> std::ws, rest);
    if (mark == "%#") continue;
    if (mark == "%let") {
      text = &pieces[name];
    } else if (mark == "%group") {
      group = name;
    } else if (mark == "%case") {
      cases.push_back({group + "_" + name, rest});
      text = &cases.back().code;
    } else if (mark == "%in") {
      cases.back().around = pieces.at(name);
    } else if (mark == "%test") {
      text = &cases.back().tests.emplace_back();
    } else if (text != nullptr) {
      *text += mark.starts_with('%') ? boost::trim_right_copy(pieces.at(mark.substr(1))) : line;
      *text += '\n';
    }
  }
  for (CodeCase& one : cases) {
    boost::trim_right(one.code);
    if (!one.around.empty()) one.code = boost::replace_first_copy(one.around, "@@", one.code);
    one.code += '\n';
    for (std::string& test : one.tests) boost::trim_right(test);
  }
  return cases;
}

}  // namespace drift::test
