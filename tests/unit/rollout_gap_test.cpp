// How far what a rollout recorded is from what training scores.

#include <core/update/rollout_gap.h>

#include <core/boundary/model_policy.h>
#include <core/update/policy_scores.h>
#include <core/update/policy_update.h>
#include <drift/plan_builder.h>
#include <drift/rollout.h>

#include "tests/support/alone.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

#include <ATen/Parallel.h>

namespace drift::rollout_gap_test {

using Settings = std::map<std::string, Parameter::Value>;

constexpr std::int64_t kResponses = 8, kGroup = 4, kVocabulary = 11, kLength = 6;

const RandomStream kRandom(3, "gap");

struct RecordedLogProbabilities : ::testing::Test {
  /// What a rollout that computes every state whole would have recorded; two positions a step.
  void record_the_truth() {
    PlanBuilder builder(kLength, /*prompt_length=*/4);
    for (std::int64_t b = 0; b < kResponses; ++b) {
      for (std::int64_t step = 0; step < kLength / 2; ++step) {
        builder.begin_view(b, 0);
        for (std::int64_t i = 2 * step; i < kLength; ++i) builder.mask(i);
        builder.score(2 * step), builder.score(2 * step + 1);
      }
    }
    const auto plan = builder.finish(1);
    const auto scores = score_views(test::alone, model, trajectories, plan, all_views(plan), false);
    trajectories.commit_logprob_BL = scores.logprob_FL.view({kResponses, kLength / 2, kLength}).sum(1).to(at::kFloat);
  }

  test::TinyModel model{kVocabulary, 5, at::kDouble};
  Trajectories trajectories = test::make_trajectories(kResponses, kGroup, 4, kLength, kVocabulary, 2);
};

TEST_F(RecordedLogProbabilities, OfCompleteStatesHaveNoGap) {
  record_the_truth();
  for (std::int64_t step = 1; step < 4; ++step) {
    EXPECT_LT(rollout_gap(test::alone, model, trajectories, kResponses, kRandom, step).largest, 1e-6);
  }
}

TEST_F(RecordedLogProbabilities, DifferByWhatTheyAreOffInEitherDirection) {
  record_the_truth();
  trajectories.commit_logprob_BL.narrow(1, 0, 3).sub_(0.5);
  trajectories.commit_logprob_BL.narrow(1, 3, 3).add_(0.5);
  const auto gap = rollout_gap(test::alone, model, trajectories, kResponses, kRandom, 1);
  EXPECT_NEAR(gap.mean, 0.5, 1e-6);
  EXPECT_NEAR(gap.largest, 0.5, 1e-6);
}

TEST_F(RecordedLogProbabilities, OneResponseIsMeasuredAtTheTokensOfOneStep) {
  record_the_truth();
  trajectories.commit_logprob_BL[0][0].sub_(1);
  std::set<double> means;
  for (std::int64_t step = 1; step < 20; ++step) {
    means.insert(std::round(1e4 * rollout_gap(test::alone, model, trajectories, 1, kRandom, step).mean) / 1e4);
  }
  EXPECT_EQ(means, (std::set<double>{0, 0.5})) << "one of the two tokens of the first step is off, and no other";
}

TEST_F(RecordedLogProbabilities, ThreadsAndTheRestOfTheBatchChangeNothing) {
  const auto whole = rollout_gap(test::alone, model, trajectories, kResponses, kRandom, 1);
  const auto one = rollout_gap(test::alone, model, trajectories, 1, kRandom, 1);
  EXPECT_NE(whole.mean, one.mean);
  const auto group = select_responses(trajectories, at::arange(kGroup, at::kLong));
  EXPECT_EQ(rollout_gap(test::alone, model, group, 1, kRandom, 1).mean, one.mean);
  const int threads_before = at::get_num_threads();
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    EXPECT_EQ(rollout_gap(test::alone, model, trajectories, kResponses, kRandom, 1).mean, whole.mean);
  }
  at::set_num_threads(threads_before);
}

TEST_F(RecordedLogProbabilities, AreNotComparedWhereNothingIsAskedForOrCommitted) {
  EXPECT_TRUE(std::isnan(rollout_gap(test::alone, model, trajectories, 0, kRandom, 1).mean));
  trajectories.step_BL.fill_(-1);
  EXPECT_TRUE(std::isnan(rollout_gap(test::alone, model, trajectories, kResponses, kRandom, 1).largest));
}

/// Mean over some steps of the gap of a decoder on a small backbone, float32.
RolloutGap gap_of(const char* family, const char* decoder, const Settings& settings) {
  const auto model = test::open_checkpoint(
      family, test::source_dir() / "tests/golden/data/ckpt" / (family + std::string("_a")), at::kFloat);
  Settings all = {{"length", std::int64_t{12}}, {"temperature", 1.0}};
  for (const auto& [name, value] : settings) all[name] = value;
  const auto rollout = test::create<Rollout>(decoder, decoder, all);
  const ModelPolicy policy(*model);
  RolloutInput input;
  input.policy = &policy;
  const auto group_B = at::arange(kResponses, at::kLong).floor_divide(kGroup);
  input.prompts = {(group_B.unsqueeze(1) * 31 + at::arange(7, at::kLong) * 17 + 5).remainder(200),
                   at::ones({kResponses, 7}, at::kBool), group_B};
  Trajectories made;
  const at::NoGradGuard no_gradient;
  rollout->generate(input, made);
  RolloutGap sum{0, 0};
  for (std::int64_t step = 1; step <= 8; ++step) {
    const auto gap = rollout_gap(test::alone, *model, made, kResponses, kRandom, step);
    sum.mean += gap.mean / 8;
    sum.largest = std::max(sum.largest, gap.largest);
  }
  return sum;
}

TEST(Decoders, WithoutACacheTheGapIsRounding) {
  for (const char* family : {"llada", "dream"}) {
    EXPECT_LT(gap_of(family, "block", {{"block", std::int64_t{4}}}).largest, 1e-5) << family;
    EXPECT_LT(gap_of(family, "diffusion", {{"steps", std::int64_t{5}}}).largest, 1e-5) << family;
  }
}

TEST(Decoders, EveryCacheHasAGap) {
  for (const char* family : {"llada", "dream"}) {
    const Settings prefix = {{"cache", "prefix"}}, dual = {{"cache", "dual"}};
    const Settings horizon = {{"cache", "prefix"}, {"horizon", std::int64_t{2}}};
    for (Settings settings : {prefix, horizon, dual}) {
      settings["block"] = std::int64_t{4};
      const auto gap = gap_of(family, "block", settings);
      EXPECT_GT(gap.mean, 1e-3) << family;
      EXPECT_GT(gap.largest, gap.mean) << family;
    }
  }
}

}  // namespace drift::rollout_gap_test
