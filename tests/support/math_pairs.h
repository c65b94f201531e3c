#pragma once

// The hard pairs of answers in tests/golden/data/rewards/math_pairs.csv.

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace drift::test {

/// One pair, with the verdicts of each grader by the name of its column.
struct MathPair {
  std::string id;
  std::string category;
  std::string prediction;
  std::string truth;
  std::map<std::string, bool> verdict;  ///< equal (the right one), math_verify, drift_as_run, drift_with_sympy
};

/// The fields of one record of RFC 4180 that begins at `at`, which moves to the next.
inline std::vector<std::string> read_csv_record(const std::string& text, std::size_t& at) {
  std::vector<std::string> fields(1);
  for (bool quoted = false; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' && quoted && at + 1 < text.size() && text[at + 1] == '"') {
      fields.back() += text[++at];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c == '\n' && !quoted) {
      ++at;
      break;
    } else if (c != '\r' || quoted) {
      fields.back() += c;
    }
  }
  return fields;
}

inline std::vector<MathPair> read_math_pairs() {
  const std::string text = read_file(source_dir() / "tests/golden/data/rewards/math_pairs.csv");
  std::size_t at = 0;
  const auto columns = read_csv_record(text, at);
  std::vector<MathPair> pairs;
  while (at < text.size()) {
    const auto fields = read_csv_record(text, at);
    if (fields.size() != columns.size()) throw std::runtime_error("math_pairs.csv: a record with other columns");
    MathPair pair;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == "id") pair.id = fields[i];
      if (columns[i] == "category") pair.category = fields[i];
      if (columns[i] == "prediction") pair.prediction = fields[i];
      if (columns[i] == "truth") pair.truth = fields[i];
      if (fields[i] == "0" || fields[i] == "1") pair.verdict[columns[i]] = fields[i] == "1";
    }
    pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace drift::test
