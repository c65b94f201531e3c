// The bytes that ranks exchange in a step: numbers worked out by hand.

#include <core/train/rank_plan.h>

#include <gtest/gtest.h>

namespace drift::rank_plan_test {

/// Sixteen rows, each scored by two policies.
ExchangeWork small_step() {
  ExchangeWork work;
  work.gradient_bytes = 4000;
  work.block_bytes = 3200;
  work.trained_bytes = 2000;
  work.trained_whole_bytes = 400;
  work.optimizer_steps = 1;
  work.passes = 4;
  work.scored_rows = 16;
  work.rows_of_a_forward = 2;
  work.rollout_forwards = 5;
  return work;
}

ExchangedBytes exchanged(Shard shard, const ExchangeWork& work = small_step()) {
  return exchanged_bytes(work, {4, shard});
}

// Of four ranks each has a quarter itself and gets three quarters.
TEST(RankPlan, WhatIsDividedDecidesWhatMoves) {
  EXPECT_EQ(exchanged(Shard::kNone).gradients, 6000) << "sums are made, 3000, and sent to all, 3000";
  EXPECT_EQ(exchanged(Shard::kNone).weights, 0);

  EXPECT_EQ(exchanged(Shard::kOptimizer).gradients, 3000);
  EXPECT_EQ(exchanged(Shard::kOptimizer).weights, 1500) << "what was trained, from the rank that updated it";
  EXPECT_EQ(exchanged(Shard::kOptimizer).rollout_weights, 0);

  EXPECT_EQ(exchanged(Shard::kParameters).gradients, 3000);
  EXPECT_EQ(exchanged(Shard::kParameters).weights, 4 * 2400 + 300)
      << "the blocks' for two forwards that score four rows, a forward and a backward; and new ones outside of blocks";
  EXPECT_EQ(exchanged(Shard::kParameters).rollout_weights, 5 * 2400) << "for each forward";
}

TEST(RankPlan, DividedGradientsLeaveAfterEveryPass) {
  ExchangeWork work = small_step();
  work.passes = 8;  // two of each rank
  EXPECT_EQ(exchanged(Shard::kOptimizer, work).gradients, 3000);
  EXPECT_EQ(exchanged(Shard::kGradients, work).gradients, 6000);
}

TEST(RankPlan, OneRankMovesNothingAndOfSeveralEachHasItsShare) {
  const auto alone = exchanged_bytes(small_step(), {1, Shard::kParameters});
  EXPECT_EQ(alone.gradients + alone.weights + alone.rollout_weights, 0);
  const Sharding ranks{.count = 8};
  EXPECT_EQ(ranks.largest_share(8), 1);
  EXPECT_EQ(ranks.largest_share(17), 3);
  EXPECT_EQ(ranks.largest_share(100), 13);
}

}  // namespace drift::rank_plan_test
