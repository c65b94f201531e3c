// Two evaluations of the same items: what changed, and whether it could be chance.

#include <core/eval/record_diff.h>
#include <core/eval/record_file.h>
#include <core/record/significance.h>

#include <drift/error.h>

#include <tests/support/support.h>

namespace drift::record_diff_test {

using namespace testing;

ResponseRecord record(const std::string& id, bool solved, const std::string& reason = "") {
  ResponseRecord record;
  record.id = id;
  record.question = "question " + id;
  record.solved = solved;
  record.status = solved ? RewardStatus::kOk : RewardStatus::kWrong;
  record.reason = reason;
  return record;
}

std::string error_of(const std::vector<ResponseRecord>& before, const std::vector<ResponseRecord>& after) {
  return test::what_of([&] { compare_records("cell", before, after); });
}

TEST(RecordDiff, OneSampleAnItem) {
  std::vector<ResponseRecord> after = {record("a", true), record("b", true, "7 is right"), record("c", false),
                                       record("d", false, "no number")};
  after[0].response = "said otherwise";
  const auto result = compare_records(
      "cell", {record("a", true), record("b", false, "8 is not 7"), record("c", false), record("d", true)}, after);
  EXPECT_EQ(result.items, 4);
  EXPECT_DOUBLE_EQ(result.before, 0.5);
  EXPECT_DOUBLE_EQ(result.after, 0.5);
  EXPECT_DOUBLE_EQ(result.difference, 0);
  EXPECT_DOUBLE_EQ(result.standard_error, std::sqrt(2.0 / 3 / 4));  // of the differences 0, 1, 0, -1
  EXPECT_EQ(result.better, 1);
  EXPECT_EQ(result.worse, 1);
  EXPECT_EQ(result.test, "exact McNemar");
  EXPECT_DOUBLE_EQ(result.p, 1);
  EXPECT_EQ(result.other_responses, 1);
  ASSERT_EQ(result.changes.size(), 2u);
  EXPECT_EQ(result.changes[0].id, "b");
  EXPECT_EQ(result.changes[0].before.reason, "8 is not 7");
  EXPECT_EQ(result.changes[0].after.reason, "7 is right");
  EXPECT_EQ(result.changes[1].after.status, "wrong");
}

TEST(RecordDiff, SeveralSamplesAreComparedByItem) {
  std::vector<ResponseRecord> before, after;
  for (const char* id : {"a", "b", "c", "d"}) {
    for (int sample = 0; sample < 2; ++sample) {
      before.push_back(record(id, false));
      after.push_back(record(id, sample == 0));
    }
  }
  const auto result = compare_records("cell", before, after);
  EXPECT_EQ(result.items, 4);
  EXPECT_DOUBLE_EQ(result.difference, 0.5);
  EXPECT_EQ(result.test, "sign flips over the items");
  EXPECT_NEAR(result.p, 2.0 / 16, 0.015);
  EXPECT_DOUBLE_EQ(result.changes.front().after.solved, 0.5);
}

TEST(RecordDiff, WhatWasNotJudgedIsLeftOut) {
  auto broken = record("b", false);
  broken.status = RewardStatus::kInfrastructure;
  const auto result = compare_records("cell", {record("a", false), record("b", true)}, {record("a", true), broken});
  EXPECT_EQ(result.items, 1);
  EXPECT_EQ(result.unjudged, 1);
  EXPECT_EQ(result.changes.size(), 1u);
}

TEST(RecordDiff, OtherItemsAreRefused) {
  EXPECT_THAT(error_of({record("a", true), record("b", true)}, {record("a", true), record("c", true)}),
              AllOf(HasSubstr("only the first has b (1)"), HasSubstr("only the second has c (1)")));
  auto changed = record("a", true);
  changed.reference = "another";
  EXPECT_THAT(error_of({record("a", true)}, {changed}), HasSubstr("a different question or reference: a (1)"));
}

TEST(RecordDiff, FoldersAreComparedCellByCell) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, bool solved) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    RecordFile(folder.path() / name).append({record("a", solved)});
  };
  write("first/responses/sums-20.jsonl", false);
  write("first/responses/old-20.jsonl", false);
  write("second/responses/sums-20.jsonl", true);
  write("second/responses/new-20.jsonl", true);
  const Comparison both = compare_evaluations(folder.path() / "first", folder.path() / "second");
  ASSERT_EQ(both.cells.size(), 1u);
  EXPECT_EQ(both.cells[0].cell, "sums-20");
  EXPECT_DOUBLE_EQ(both.cells[0].difference, 1);
  EXPECT_THAT(both.only_before, ElementsAre("old-20"));
  EXPECT_THAT(both.only_after, ElementsAre("new-20"));

  const Comparison files = compare_evaluations(folder.path() / "first/responses/sums-20.jsonl",
                                               folder.path() / "second/responses/sums-20.jsonl");
  EXPECT_EQ(files.cells[0].better, 1);
  const Comparison same = compare_evaluations(folder.path() / "first", folder.path() / "first");
  EXPECT_EQ(same.cells.size(), 2u);
  for (const CellComparison& cell : same.cells) EXPECT_THAT(cell.changes, IsEmpty());
  EXPECT_THROW(compare_evaluations(folder.path() / "first", folder.path() / "missing"), Error);
}

}  // namespace drift::record_diff_test
