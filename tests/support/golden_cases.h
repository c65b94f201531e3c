#pragma once

// Golden values as text that people read:
//
//     # what this file is, where the numbers come from
//     case token norm, norm token, beta 0.01
//       loss       -0.05314638
//       effective   0 2 3
//
// A case has a name, settings ("key value", after the first comma), and indented rows of numbers under a name. A "-" in
// a row means a value that does not matter and reads as NaN.

#include "tests/support/support.h"

namespace drift::test {

class GoldenCase {
 public:
  std::string name;
  std::map<std::string, std::string> settings;
  std::map<std::string, std::vector<double>> rows;

  /// A row that must be there.
  const std::vector<double>& row(const std::string& name) const;
  /// The only number of a row that must be there.
  double number(const std::string& name) const;
  bool has(const std::string& name) const { return rows.count(name) != 0; }
};

/// The cases of tests/golden/FILE, in order. Throws std::runtime_error with file and line if it is malformed.
std::vector<GoldenCase> read_golden_cases(const std::string& file);

/// As above, from a text; `origin` appears in messages.
std::vector<GoldenCase> parse_golden_cases(std::string_view text, const std::string& origin);

/// The case of that name, which must be there.
const GoldenCase& find_case(const std::vector<GoldenCase>& cases, const std::string& name);

}  // namespace drift::test
