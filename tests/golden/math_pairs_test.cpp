// The hard pairs of answers (data/rewards/math_pairs.csv): each has the verdict that mathematics gives, and those of
// other graders.

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "equivalence.h"
#include "tests/support/support.h"

namespace math_reward {
namespace {

using Row = std::map<std::string, std::string>;

// Comma-separated values with quotes (RFC 4180); the first record names the columns.
std::vector<Row> read_table(const std::string& text) {
  std::vector<std::vector<std::string>> records(1, {""});
  bool in_quotes = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const bool doubled = in_quotes && i + 1 < text.size() && text[i + 1] == '"';
      if (doubled) records.back().back() += text[i++];
      if (!doubled) in_quotes = !in_quotes;
    } else if (c == ',' && !in_quotes) {
      records.back().emplace_back();
    } else if (c == '\n' && !in_quotes) {
      records.push_back({""});
    } else if (c != '\r') {
      records.back().back() += c;
    }
  }
  std::vector<Row> rows;
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].size() != records[0].size()) continue;
    Row& row = rows.emplace_back();
    for (std::size_t column = 0; column < records[0].size(); ++column) row[records[0][column]] = records[i][column];
  }
  return rows;
}

TEST(MathPairs, EveryVerdictIsThatOfTheTable) {
  const auto rows =
      read_table(drift::test::read_file(drift::test::source_dir() / "tests/golden/data/rewards/math_pairs.csv"));
  ASSERT_EQ(rows.size(), 150u);
  for (const Row& row : rows) {
    const Comparison result = compare_answers(row.at("truth"), row.at("prediction"));
    EXPECT_EQ(result.equal, row.at("equal") == "1")
        << "pair " << row.at("id") << " (" << row.at("category") << "): truth " << row.at("truth") << ", prediction "
        << row.at("prediction") << "; " << result.reason;
    EXPECT_TRUE(result.truth_parsed) << "pair " << row.at("id") << ": " << row.at("truth");
  }
}

}  // namespace
}  // namespace math_reward
