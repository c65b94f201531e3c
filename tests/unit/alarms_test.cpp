// Every alarm on made-up metrics: it is raised where its sign appears, says what was found, and stays silent elsewhere.

#include "tests/support/support.h"

#include <core/config/schema.h>
#include <core/record/alarms.h>
#include <core/record/step_record.h>

namespace drift::alarms_test {

using namespace testing;

AlarmLimits defaults() { return settings_from<AlarmLimits>(Parameters(find_section("alarms")->keys)); }

/// A run in which nothing is wrong: `change` makes it worse, step by step.
std::vector<StepRecord> run_of(int steps, const std::function<void(StepRecord&)>& change) {
  std::vector<StepRecord> records;
  for (int step = 1; step <= steps; ++step) {
    StepRecord record;
    record.step = step;
    record.reward = 0.5;
    record.groups = 16;
    record.live_groups = 12;
    record.response_length = 40;
    record.token_surprisal = 0.5;
    record.same_responses = 0.1;
    record.rollout_gap = 0.01;
    record.tokens_per_second = 1000;
    record.loss_metrics["kl"] = 0.05;
    change(record);
    records.push_back(std::move(record));
  }
  return records;
}

/// "length_drift 26", one a line.
std::vector<std::string> raised(int steps, const std::function<void(StepRecord&)>& change,
                                const AlarmLimits& limits = defaults()) {
  std::vector<std::string> names;
  for (const Alarm& alarm : alarms_of(run_of(steps, change), limits))
    names.push_back(std::string(alarm.doc->name) + " " + std::to_string(alarm.step));
  return names;
}

TEST(Alarms, AreSilentOverAHealthyRun) {
  EXPECT_THAT(raised(100, [](StepRecord&) {}), IsEmpty());
  EXPECT_THAT(raised(100, [](StepRecord& step) { step = {.step = step.step}; }), IsEmpty()) << "nothing is known";
}

TEST(Alarms, LengthDrift) {
  // Mean of the last ten at step 25: (5 x 40 + 5 x 81) / 10 = 60.5, over 1.5 x 40; at step 24 it is 56.4.
  const auto longer = [](StepRecord& step) { step.response_length = step.step > 20 ? 81 : 40; };
  EXPECT_THAT(raised(60, longer), ElementsAre("length_drift 25"));
  EXPECT_THAT(alarms_of(run_of(60, longer), defaults()).front().text(),
              HasSubstr("responses have 60.5 tokens, 40 in the first 10 steps: the reward may pay for length"));
  const auto shorter = [](StepRecord& step) { step.response_length = step.step > 20 ? 1 : 40; };
  EXPECT_THAT(raised(60, shorter), ElementsAre("length_drift 26"));
}

TEST(Alarms, RewardCollapse) {
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.reward = step.step > 30 ? 0 : 0.5; }),
              ElementsAre("reward_collapse 36"))
      << "the mean of ten steps is half of the best at step 35, and below it after";
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.reward = step.step > 30 ? 0.3 : 0.5; }), IsEmpty());
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.reward = step.step >= 5 && step.step <= 7 ? 1 : 0; }), IsEmpty())
      << "three lucky steps are no more than noise";
}

TEST(Alarms, EqualGroups) {
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.live_groups = step.step == 7 ? 0 : 12; }),
              ElementsAre("equal_groups 7"));
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.live_groups = 1; }), ElementsAre("equal_groups 1"))
      << "in the first steps, few live groups are enough";
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.live_groups = step.step > 5 ? 1 : 12; }), IsEmpty())
      << "later, the model may solve nearly all";
}

TEST(Alarms, EntropyCollapseAndKlBlowup) {
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.token_surprisal = step.step > 30 ? 0 : 0.5; }),
              ElementsAre("entropy_collapse 39"))
      << "0.5 x 1/10 is the first mean below 0.2 x 0.5";
  const auto blows_up = [](StepRecord& step) { step.loss_metrics["kl"] = step.step > 30 ? 11 : 0; };
  EXPECT_THAT(raised(60, blows_up), ElementsAre("kl_blowup 31"));
  EXPECT_THAT(alarms_of(run_of(31, blows_up), defaults()).back().found, "the KL is 1.1, mean of 10 steps");
}

TEST(Alarms, SameResponsesRolloutGapAndThroughputDrop) {
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.same_responses = 1; }), ElementsAre("same_responses 1"));
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.same_responses = 0.95; }), IsEmpty())
      << "short right responses repeat";
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.rollout_gap = 0.2; }), ElementsAre("rollout_gap 1"));
  EXPECT_THAT(raised(60, [](StepRecord& step) { step.tokens_per_second = step.step > 30 ? 100 : 1000; }),
              ElementsAre("throughput_drop 36"));
}

TEST(Alarms, AreRaisedAgainOnlyAfterAWindowWithoutTheirSign) {
  const auto at = [](std::vector<std::int64_t> steps) {
    return [steps](StepRecord& step) { step.live_groups = std::ranges::count(steps, step.step) > 0 ? 0 : 12; };
  };
  EXPECT_THAT(raised(60, at({20, 21, 22, 30})), ElementsAre("equal_groups 20"));
  EXPECT_THAT(raised(60, at({20, 21, 22, 33})), ElementsAre("equal_groups 20", "equal_groups 33"));
}

TEST(Alarms, ALimitOfZeroTurnsOneOff) {
  AlarmLimits limits = defaults();
  limits.rollout_gap = 0;
  EXPECT_THAT(raised(
                  60, [](StepRecord& step) { step.rollout_gap = 5; }, limits),
              IsEmpty());
}

TEST(Alarms, EveryOneHasAKeyAndAMetric) {
  const StepRecord healthy = run_of(1, [](StepRecord&) {}).front();
  ASSERT_THAT(find_section("alarms")->keys, SizeIs(alarm_docs().size() + 1)) << "and the window";
  for (std::size_t i = 0; i < alarm_docs().size(); ++i) {
    EXPECT_EQ(find_section("alarms")->keys[i + 1].name, alarm_docs()[i].name);
    EXPECT_FALSE(std::isnan(healthy.value(alarm_docs()[i].metric))) << alarm_docs()[i].metric;
  }
}

TEST(Alarms, OfAnOlderRunAreThoseThatItWasWatchedFor) {
  // What goes through metrics.jsonl raises the same.
  std::vector<StepRecord> read;
  for (const StepRecord& step : run_of(60, [](StepRecord& step) { step.reward = step.step > 30 ? 0 : 0.5; }))
    read.push_back(parse_step(to_json_line(step)));
  EXPECT_THAT(alarms_of(read, defaults()), SizeIs(1));
}

}  // namespace drift::alarms_test
