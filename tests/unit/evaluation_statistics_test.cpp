// How sure an accuracy is: intervals and tests against values computed by hand, and what the records of a cell come to.

#include "tests/support/support.h"

#include <core/eval/cell_summary.h>
#include <core/record/significance.h>

namespace drift::evaluation_statistics_test {

using testing::DoubleNear;

TEST(Significance, WilsonsInterval) {
  // 7 of 20, z^2 = 3.841459: centre (0.35 + 0.096036) / 1.192073, half width 1.959964 sqrt(0.0137759) / 1.192073.
  const Interval some = wilson_interval(7.0 / 20, 20);
  EXPECT_NEAR(some.low, 0.181192, 2e-6);
  EXPECT_NEAR(some.high, 0.567146, 2e-6);
  // None of 8: from 0 to z^2 / (8 + z^2). All of 8 is its mirror image.
  EXPECT_DOUBLE_EQ(wilson_interval(0, 8).low, 0);
  EXPECT_NEAR(wilson_interval(0, 8).high, 3.841459 / 11.841459, 1e-6);
  EXPECT_NEAR(wilson_interval(1, 8).low, 8 / 11.841459, 1e-6);
  EXPECT_DOUBLE_EQ(wilson_interval(1, 8).high, 1);
}

TEST(Significance, McNemarCountsTheItemsThatOnlyOneSideSolved) {
  EXPECT_DOUBLE_EQ(mcnemar_p(0, 6), 2.0 / 64);
  EXPECT_DOUBLE_EQ(mcnemar_p(1, 5), 2.0 * (1 + 6) / 64);
  EXPECT_DOUBLE_EQ(mcnemar_p(5, 1), mcnemar_p(1, 5));
  EXPECT_DOUBLE_EQ(mcnemar_p(3, 3), 1);
  EXPECT_DOUBLE_EQ(mcnemar_p(0, 0), 1);
  EXPECT_LT(mcnemar_p(100, 200), 1e-8);
}

TEST(Significance, SignFlipsAgreeWithTheCountOfAllPatterns) {
  EXPECT_THAT(sign_flip_p({1, 1, 1, 1}, 1), DoubleNear(2.0 / 16, 0.015));
  // Of the 8 patterns of +-0.5, +-0.25, +-0.25, the sums +-1 are as far from 0 as the 1 that was seen.
  EXPECT_THAT(sign_flip_p({0.5, 0.25, 0.25}, 1), DoubleNear(2.0 / 8, 0.015));
  EXPECT_DOUBLE_EQ(sign_flip_p({0, 0, 0}, 1), 1);
  EXPECT_DOUBLE_EQ(sign_flip_p({}, 1), 1);
  EXPECT_EQ(sign_flip_p({1, 0, -1, 1, 1}, 7), sign_flip_p({1, 0, -1, 1, 1}, 7));
}

ResponseRecord record(const std::string& id, bool solved) {
  ResponseRecord record;
  record.id = id;
  record.solved = solved;
  record.value = solved ? 1 : 0.25;
  record.token_ids = {1, 2, 3, 4};
  record.forwards = 2;
  record.seconds = 0.5;
  return record;
}

TEST(CellSummary, OneSampleAnItem) {
  std::vector<ResponseRecord> records = {record("a", true), record("b", false), record("c", false), record("d", false)};
  records[1].truncated = true;
  records[1].token_ids.clear();
  records[1].forwards = 6;
  const CellSummary summary = summarise({"puzzles", 20, "dynamic"}, records, 4);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(summary.items, 4);
  EXPECT_DOUBLE_EQ(summary.accuracy, 0.25);
  EXPECT_DOUBLE_EQ(summary.standard_error, std::sqrt(0.25 * 0.75 / 4));
  EXPECT_DOUBLE_EQ(summary.interval.low, wilson_interval(0.25, 4).low);
  EXPECT_DOUBLE_EQ(summary.value, (1 + 3 * 0.25) / 4);
  EXPECT_DOUBLE_EQ(summary.tokens_per_second, 12 / 2.0);
  EXPECT_DOUBLE_EQ(summary.forwards, 3);
  EXPECT_DOUBLE_EQ(summary.tokens, 3);
  EXPECT_DOUBLE_EQ(summary.truncated, 0.25);
  EXPECT_DOUBLE_EQ(summary.seconds, 2);
}

TEST(CellSummary, OfSeveralSamplesTheItemsAreWhatCounts) {
  // Solved shares 1, 1/2, 0: mean 1/2, sample variance 1/4.
  const CellSummary summary = summarise({"puzzles", 20, ""},
                                        {record("a", true), record("a", true), record("b", true), record("b", false),
                                         record("c", false), record("c", false)},
                                        6);
  EXPECT_EQ(summary.items, 3);
  EXPECT_DOUBLE_EQ(summary.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(summary.standard_error, std::sqrt(0.25 / 3));
  EXPECT_DOUBLE_EQ(summary.interval.high, wilson_interval(0.5, 3).high);
}

TEST(CellSummary, OfSeveralSamplesOneOrTheMajorityIsSolved) {
  const auto answering = [](const std::string& id, std::int64_t sample, bool solved, const std::string& response) {
    ResponseRecord made = record(id, solved);
    made.sample = sample;
    made.response = response;
    return made;
  };
  const auto of = [&](const std::string& id, const std::vector<std::pair<bool, std::string>>& given) {
    std::vector<ResponseRecord> records;
    for (const auto& [solved, response] : given)
      records.push_back(answering(id, std::ssize(records), solved, response));
    return summarise({"sums", 20, ""}, records, std::ssize(records));
  };
  const auto even = of("a", {{true, "1/2"}, {true, "0.5"}, {false, "so \\boxed{3}"}, {false, "\\boxed{ 3 } it is"}});
  EXPECT_EQ(even.samples, 4);
  EXPECT_DOUBLE_EQ(even.pass, 1);
  EXPECT_DOUBLE_EQ(even.majority, 1) << "all that is solved is one answer; it wins where another was given as often";
  const auto minority = of("a", {{true, "1"}, {false, "<answer>3</answer>"}, {false, "<answer> 3\n</answer>!"}});
  EXPECT_DOUBLE_EQ(minority.pass, 1);
  EXPECT_DOUBLE_EQ(minority.majority, 0);
  const auto none = of("a", {{false, "1"}, {false, "2"}});
  EXPECT_DOUBLE_EQ(none.pass, 0);
  EXPECT_DOUBLE_EQ(none.majority, 0);
  EXPECT_THAT(to_text(summary_table({even}), true), testing::HasSubstr("  k  pass@k %  maj@k %  "));
}

TEST(CellSummary, WhatCouldNotBeJudgedIsNotWrong) {
  std::vector<ResponseRecord> records = {record("a", true), record("b", false), record("c", false)};
  records[2].status = RewardStatus::kInfrastructure;
  const CellSummary summary = summarise({"puzzles", 20, ""}, records, 3);
  EXPECT_DOUBLE_EQ(summary.accuracy, 0.5);
  EXPECT_EQ(summary.unjudged, 1);
  EXPECT_FALSE(summary.complete());
}

TEST(CellSummary, OnlyWhatIsWantedCountsAndNothingIsNoFigure) {
  EXPECT_DOUBLE_EQ(summarise({"puzzles", 20, ""}, {record("a", true), record("b", false)}, 1).accuracy, 1);
  const CellSummary part = summarise({"puzzles", 20, ""}, {record("a", true)}, 5);
  EXPECT_FALSE(part.complete());
  EXPECT_EQ(part.answered, 1);
  EXPECT_TRUE(std::isnan(summarise({"puzzles", 20, ""}, {}, 5).accuracy));
}

TEST(CellSummary, AsATable) {
  EXPECT_EQ(
      to_text(summary_table({summarise({"puzzles", 20, "static"}, {record("a", true), record("b", false)}, 2),
                             summarise({"puzzles", 40, "static"}, {record("a", true)}, 1500),
                             summarise({"sums", 20, "static"}, {}, 8)}),
              true),
      "cell                accuracy %  95 % interval  tokens/s  forwards  tokens  cut off %                 items    "
      "time\n"
      "puzzles-20-static  50.0 ± 35.4    9.5 to 90.5      8.00       2.0     4.0        0.0                     2  "
      "1.00 s\n"
      "puzzles-40-static  100.0 ± 0.0  20.7 to 100.0      8.00       2.0     4.0        0.0  1 of 1,500 responses  "
      "0.50 s\n"
      "sums-20-static               -              -         -         -       -          -      0 of 8 responses  "
      "     -\n");
}

}  // namespace drift::evaluation_statistics_test
