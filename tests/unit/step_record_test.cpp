#include "tests/support/support.h"

#include <core/record/step_record.h>

namespace drift::step_record_test {

StepRecord whole_step() {
  StepRecord step;
  step.step = 3;
  step.loss = -0.5;
  step.reward = 0.25;
  step.reward_parts = {{"format", 1}, {"puzzle", 0.125}};
  step.solved = 0.375;
  step.grad_norm = 1.5;
  step.learning_rate = 0.1;
  step.groups = 8;
  step.live_groups = 0;
  step.kept_groups = 4;
  step.response_length = 20;
  step.update_forwards_per_response = 2;
  step.rollout_gap = 0.125;
  step.rollout_gap_max = 0.5;
  step.two_pass = true;
  step.loss_metrics = {{"clipped", kUnknown}, {"reward", 0.75}};
  step.plugin_metrics = {{"code/timeouts", 2}};
  step.seconds = StepSeconds{.rollout = 1, .reward = 0.5, .update = 2, .total = 4.25};
  step.held_out = HeldOutResult{0.5, 0.125, 16, 32, 7.5};
  return step;
}

const std::string kWholeLine =
    R"({"step":3,"loss":-0.5,"reward":0.25,"solved":0.375,"grad_norm":1.5,"live_groups":0,"kept_groups":4,)"
    R"("groups":8,"response_length":20.0,"forwards_per_response":null,"tokens_per_second":null,"learning_rate":0.1,)"
    R"("update_forwards_per_response":2.0,"update_backwards_per_response":null,"rollout_gap":0.125,)"
    R"("rollout_gap_max":0.5,"two_pass":true,"skipped":false,)"
    R"("reward.format":1.0,"reward.puzzle":0.125,"loss/clipped":null,"loss/reward":0.75,"code/timeouts":2.0,"seconds":{"rollout":1.0,)"
    R"("reward":0.5,"old":0.0,"reference":0.0,"update":2.0,"other":0.75,"total":4.25},"held_out":{"accuracy":0.5,)"
    R"("standard_error":0.125,"items":16,"forwards_per_response":32.0,"seconds":7.5}})";

TEST(StepRecord, IsALineWhoseUnknownNumbersAreNullAndTheSameWhenReadBack) {
  EXPECT_EQ(to_json_line(whole_step()), kWholeLine);
  const StepRecord read = parse_step(kWholeLine);
  // What the loss could not tell is left out.
  std::string line = kWholeLine;
  const std::string unknown = R"("loss/clipped":null,)";
  EXPECT_EQ(to_json_line(read), line.erase(line.find(unknown), unknown.size()));
  EXPECT_TRUE(std::isnan(read.value("loss/clipped")));
}

TEST(StepRecord, WhatIsEvaluatedBeforeTheFirstStepHasNoTime) {
  StepRecord before;
  before.held_out = HeldOutResult{0.5, 0.125, 16, 32, 7.5};
  const StepRecord read = parse_step(to_json_line(before));
  EXPECT_FALSE(read.seconds);
  EXPECT_FALSE(read.live_groups);
  ASSERT_TRUE(read.held_out);
  EXPECT_EQ(read.held_out->items, 16);
}

TEST(StepRecord, NumbersAreFoundByTheirName) {
  const StepRecord step = whole_step();
  EXPECT_EQ(step.value("reward"), 0.25);
  EXPECT_EQ(step.value("reward.puzzle"), 0.125);
  EXPECT_EQ(step.value("live_groups"), 0);
  EXPECT_EQ(step.value("loss/reward"), 0.75) << "the loss's own";
  EXPECT_EQ(step.value("code/timeouts"), 2);
  EXPECT_TRUE(std::isnan(step.value("loss/kl")));
  EXPECT_EQ(parse_step(R"({"step":1,"kl":0.5})").value("loss/kl"), 0.5) << "a run from before these names";
}

TEST(StepRecord, TheTotalAloneIsNotAPhase) {
  const StepRecord step = parse_step(R"({"step":1,"seconds":0.5})");
  ASSERT_TRUE(step.seconds);
  EXPECT_EQ(step.seconds->total, 0.5);
  EXPECT_THAT(step.seconds->phases(), testing::IsEmpty());
}

}  // namespace drift::step_record_test
