// How an update is divided so that it fits its memory.

#include <core/update/update_passes.h>

#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

#include <gmock/gmock.h>

namespace drift::update_passes_test {

using ::testing::ElementsAre;

/// Three responses with two views each, listed by forward.
MaskPlan two_views_of_three() {
  MaskPlan plan;
  plan.response_F = at::tensor({0L, 1L, 2L, 0L, 1L, 2L}, at::kLong);
  return plan;
}

UpdateMemory memory(std::int64_t rows, std::int64_t recomputed_rows) { return {rows, recomputed_rows, 1}; }

TEST(UpdatePasses, TakeAsManyCompleteUnitsAsFit) {
  const auto passes = plan_passes(two_views_of_three(), Coupling::kResponse, memory(5, 50));
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_THAT(passes[0].units, ElementsAre(Views{0, 3}, Views{1, 4}));
  EXPECT_THAT(passes[1].units, ElementsAre(Views{2, 5}));
  for (const auto& pass : passes) EXPECT_FALSE(pass.recompute || pass.scores_first);
}

TEST(UpdatePasses, ViewsThatALossDoesNotCoupleAreFreeToSplit) {
  const auto passes = plan_passes(two_views_of_three(), Coupling::kView, memory(4, 4));
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_THAT(passes[0].views(), ElementsAre(0, 3, 1, 4)) << "those of one response stay together";
}

TEST(UpdatePasses, BlocksAreComputedAgainBeforeAUnitIsSplit) {
  const auto passes = plan_passes(two_views_of_three(), Coupling::kResponse, memory(1, 4));
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_TRUE(passes[0].recompute);
  EXPECT_FALSE(passes[0].scores_first);
  EXPECT_EQ(passes[0].units.size(), 2u);
}

TEST(UpdatePasses, AUnitThatDoesNotFitAtAllIsScoredFirst) {
  const auto split = plan_passes(two_views_of_three(), Coupling::kBatch, memory(3, 4));
  ASSERT_EQ(split.size(), 1u);
  EXPECT_TRUE(split[0].scores_first);
  EXPECT_FALSE(split[0].recompute) << "as many as fit go through as they are";
  EXPECT_EQ(split[0].rows_at_once, 3);

  const auto smallest = plan_passes(two_views_of_three(), Coupling::kBatch, memory(0, 1));
  ASSERT_EQ(smallest.size(), 1u);
  EXPECT_TRUE(smallest[0].scores_first && smallest[0].recompute);
  EXPECT_EQ(smallest[0].rows_at_once, 1);
}

/// Rows that read `length` hidden rows each for one view, in order.
std::vector<std::vector<RowTarget>> one_row_each(std::int64_t views, std::int64_t length) {
  std::vector<std::vector<RowTarget>> rows(static_cast<std::size_t>(views));
  for (std::int64_t v = 0; v < views; ++v) {
    for (std::int64_t i = 0; i < length; ++i) rows[static_cast<std::size_t>(v)].push_back({i, 0, v * length + i});
  }
  return rows;
}

TEST(LogitChunks, HaveAsManyCompleteUnitsAsFit) {
  const auto chunks = chunk_units({{7}, {8}, {9}}, one_row_each(3, 4), 4, 8);
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0].views.end, 2);
  EXPECT_EQ(chunks[1].views.begin, 2);
  EXPECT_EQ(chunks[1].views.end, 3);
  EXPECT_TRUE(chunks[0].fits && chunks[1].fits);
}

TEST(LogitChunks, CountAHiddenRowOnceForAllItsViews) {
  // Both views score the same row at the same positions.
  std::vector<std::vector<RowTarget>> rows(1);
  for (std::int64_t i = 0; i < 4; ++i) {
    rows[0].push_back({i, 0, i});
    rows[0].push_back({i, 1, 4 + i});
  }
  const auto chunks = chunk_units({{0}, {1}}, rows, 4, 4);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_TRUE(chunks[0].fits);
}

TEST(LogitChunks, SayWhereAUnitIsTooLarge) {
  const auto chunks = chunk_units({{0, 1}, {2}}, one_row_each(3, 4), 4, 7);
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_FALSE(chunks[0].fits);
  EXPECT_TRUE(chunks[1].fits);
}

TEST(UpdateMemory, GrowsWithTheBudgetAndNeverVanishes) {
  const test::TinyModel model(50, 16, at::kFloat);
  UpdateMemory before = divide_memory(model, 32, 1000, 0);
  EXPECT_EQ(before.rows, 0);
  EXPECT_EQ(before.recomputed_rows, 1);
  EXPECT_EQ(before.logit_rows, 1);
  for (std::int64_t budget = 1 << 10; budget < 1 << 26; budget *= 4) {
    const auto more = divide_memory(model, 32, 1000, budget);
    EXPECT_GE(more.rows, before.rows);
    EXPECT_GE(more.logit_rows, before.logit_rows);
    EXPECT_LE(more.rows * model.training_bytes_per_row(32) + more.logit_rows * 50 * 4,
              std::max<std::int64_t>(budget, 200));
    before = more;
  }
  EXPECT_EQ(before.logit_rows, 1000) << "no more than there are";
}

}  // namespace drift::update_passes_test
