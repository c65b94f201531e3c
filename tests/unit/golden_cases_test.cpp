#include "tests/support/golden_cases.h"
#include "tests/support/support.h"

namespace drift::test::golden_cases_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(GoldenCases, ReadsNamesSettingsAndRows) {
  const auto cases = parse_golden_cases(
      "# a comment\n"
      "case token norm, norm token, beta 0.01   # another\n"
      "  loss  -1.5e-2\n"
      "  probabilities .5 - 1\n"
      "\n"
      "case plain\n",
      "text");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].name, "token norm");
  EXPECT_THAT(cases[0].settings, ElementsAre(std::pair{"beta", "0.01"}, std::pair{"norm", "token"}));
  EXPECT_EQ(cases[0].number("loss"), -0.015);
  EXPECT_EQ(cases[0].row("probabilities")[0], 0.5);
  EXPECT_TRUE(std::isnan(cases[0].row("probabilities")[1]));
  EXPECT_EQ(&find_case(cases, "plain"), &cases[1]);
}

std::string complaint(const std::string& text) {
  try {
    parse_golden_cases(text, "file");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(GoldenCases, SaysWhereAFileIsMalformed) {
  EXPECT_THAT(complaint("case a\n  x 1 two\n"), HasSubstr("file:2: `two` is not a number"));
  EXPECT_THAT(complaint("  x 1\n"), HasSubstr("file:1: expected `case NAME"));
  EXPECT_THAT(complaint("case a, beta\n"), HasSubstr("file:1: a setting is `key value`"));
  EXPECT_THAT(complaint("case a\n  x 1\n  x 2\n"), HasSubstr("file:3: row `x` is given twice"));
  EXPECT_THROW(parse_golden_cases("case a\n", "file").front().row("x"), std::runtime_error);
}

}  // namespace
}  // namespace drift::test::golden_cases_test
