// The cost of a step that several ranks share: numbers worked out by hand from the formulas of docs/scale.md.

#include <core/train/rank_plan.h>

#include <gtest/gtest.h>

#include <cmath>

namespace drift {
namespace {

/// Eight responses of ten tokens in rows of twenty; sixteen contexts, each scored by two policies.
StepWork small_step() {
  StepWork work;
  work.responses = 8;
  work.response_length = 10;
  work.sequence = 20;
  work.forwards = 5;
  work.views = 16;
  work.scored_tokens = 100;
  work.forward_rows = 32;
  work.backward_rows = 16;
  work.passes = 4;
  work.optimizer_steps = 1;
  work.score_sets = 2;
  work.token_operations = 100;
  work.head_operations = 50;
  work.rows_scored_at_once = 2;
  work.weight_bytes = 4000;
  work.block_bytes = 3200;
  work.trained_bytes = 2000;
  work.trained_whole_bytes = 400;
  work.gradient_bytes = 4000;
  work.state_bytes = 12000;
  work.pieces = 3;
  return work;
}

RankMachine slow_machine() { return {.rate = 1000, .memory_rate = 10000, .link = 1000, .latency = 0.5, .spread = 0.1}; }

MovedBytes moved(Shard shard, const StepWork& work = small_step()) { return moved_bytes(work, {4, shard}); }

// Of four ranks each has a quarter itself and gets three quarters.
TEST(RankPlan, WhatLossesReadGoesToEveryRank) {
  for (const Shard shard : {Shard::kNone, Shard::kOptimizer, Shard::kGradients, Shard::kParameters}) {
    EXPECT_EQ(moved(shard).trajectories, 0.75 * 8 * 10 * 17);
    EXPECT_EQ(moved(shard).log_probabilities, 0.75 * 16 * 2 * 10 * 4);
  }
}

TEST(RankPlan, WhatIsDividedDecidesWhatMoves) {
  EXPECT_EQ(moved(Shard::kNone).gradients, 6000) << "sums are made, 3000, and sent to all, 3000";
  EXPECT_EQ(moved(Shard::kNone).weights, 0);
  EXPECT_EQ(moved(Shard::kNone).messages, 1 + 1 + 2 * 3);

  EXPECT_EQ(moved(Shard::kOptimizer).gradients, 3000);
  EXPECT_EQ(moved(Shard::kOptimizer).weights, 1500) << "what was trained, from the rank that updated it";
  EXPECT_EQ(moved(Shard::kOptimizer).rollout_weights, 0);

  EXPECT_EQ(moved(Shard::kParameters).gradients, 3000);
  EXPECT_EQ(moved(Shard::kParameters).weights, 4 * 2400 + 300)
      << "the blocks' for two forwards that score four rows, a forward and a backward; and new ones outside of blocks";
  EXPECT_EQ(moved(Shard::kParameters).rollout_weights, 5 * 2400) << "for each forward";
}

TEST(RankPlan, DividedGradientsLeaveAfterEveryPass) {
  StepWork work = small_step();
  work.passes = 8;  // two of each rank
  EXPECT_EQ(moved(Shard::kOptimizer, work).gradients, 3000);
  EXPECT_EQ(moved(Shard::kGradients, work).gradients, 6000);
}

TEST(RankPlan, OneRankMovesNothing) {
  EXPECT_EQ(moved_bytes(small_step(), {1, Shard::kParameters}).sum(), 0);
  const RankSeconds alone = rank_seconds(small_step(), {1, Shard::kNone}, slow_machine());
  EXPECT_EQ(alone.exchange, 0);
  EXPECT_EQ(alone.idle, 0);
}

TEST(RankPlan, AStepTakesTheTimeOfItsOperationsAndBytes) {
  const RankSeconds seconds = rank_seconds(small_step(), {4, Shard::kNone}, slow_machine());
  // Two responses: 2 x (20 x 100 + 10 x 50) = 5000 operations a forward.
  EXPECT_DOUBLE_EQ(seconds.rollout, 5 * 5);
  EXPECT_DOUBLE_EQ(seconds.idle, 25 * 0.1 * std::sqrt(2 * std::log(4.0) / 2));
  // Eight rows forward and four backward, which cost double: 16 x 20 x 100; the head on 25 positions, four times: 5000.
  EXPECT_DOUBLE_EQ(seconds.update, 37);
  EXPECT_DOUBLE_EQ(seconds.optimizer, (2 * 12000 + 4000 + 2000) / 10000.0);
  // 1020 + 960 + 6000 bytes; eight messages of two hops.
  EXPECT_DOUBLE_EQ(seconds.exchange, 7.98 + 8 * 2 * 0.5);
  EXPECT_DOUBLE_EQ(rank_seconds(small_step(), {4, Shard::kOptimizer}, slow_machine()).optimizer, 0.75);

  StepWork recomputed = small_step();
  recomputed.recomputes = true;
  EXPECT_DOUBLE_EQ(rank_seconds(recomputed, {4, Shard::kNone}, slow_machine()).update, 37 + 4 * 20 * 100 / 1000.0);
}

// With many ranks each has little to compute, and reads the weights all the same.
TEST(RankPlan, AForwardTakesAtLeastTheReadingOfTheWeights) {
  RankMachine machine = slow_machine();
  machine.memory_rate = 500;
  EXPECT_DOUBLE_EQ(rank_seconds(small_step(), {4, Shard::kNone}, machine).rollout, 5 * 4000 / 500.0);
}

TEST(RankPlan, RanksBeyondTheResponsesDoNotHelp) {
  const auto rollout = [](std::int64_t ranks) {
    return rank_seconds(small_step(), {ranks, Shard::kNone}, slow_machine()).rollout;
  };
  EXPECT_EQ(rollout(8), rollout(4) / 2);
  EXPECT_EQ(rollout(16), rollout(8));
}

TEST(RankPlan, ARankHasItsShareOfTheRowsInMemory) {
  MemoryWork work;
  work.responses = 8;
  work.rows = 17;
  work.scored_tokens = 100;
  const MemoryWork of_rank = memory_work_of_rank(work, 8);
  EXPECT_EQ(of_rank.responses, 1);
  EXPECT_EQ(of_rank.rows, 3);
  EXPECT_EQ(of_rank.scored_tokens, 13);
}

}  // namespace
}  // namespace drift
