// The block rollout on a tiny model: what it promises whatever the model is.

#include <drift/error.h>
#include <drift/rollout.h>

#include "tests/support/plugins.h"
#include "tests/support/tiny_model.h"

#include <core/base/model_policy.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <gtest/gtest.h>

#include <cmath>

namespace drift {
namespace {

constexpr std::int64_t kVocabulary = 9, kPrompt = 5, kLength = 12, kBlock = 4;

std::map<std::string, ParamValue> settings(const std::map<std::string, ParamValue>& more = {}) {
  std::map<std::string, ParamValue> all{
      {"length", kLength}, {"block", kBlock}, {"threshold", 0.3}, {"temperature", 1.0}};
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

Prompts prompts(std::int64_t groups, std::int64_t group_size) {
  return test::make_trajectories(groups * group_size, group_size, kPrompt, kLength, kVocabulary, 0).prompts;
}

Trajectories generate(const Model& model, const Prompts& given, const std::map<std::string, ParamValue>& values,
                      std::int64_t first_sample = 0) {
  const auto rollout = test::create<Rollout>("block", "block", values);
  RolloutInput input;
  const ModelPolicy policy(model);
  input.policy = &policy;
  input.prompts = given;
  input.random = RandomStream(11, "rollout");
  input.step = 3;
  input.first_sample = first_sample;
  Trajectories trajectories;
  const at::NoGradGuard no_gradient;
  rollout->generate(input, trajectories);
  return trajectories;
}

bool same(const Trajectories& a, const Trajectories& b) {
  return at::equal(a.tokens_BL, b.tokens_BL) && at::equal(a.step_BL, b.step_BL) &&
         at::equal(a.forwards_B, b.forwards_B);
}

struct BlockRolloutTest : ::testing::Test {
  test::TinyModel model{kVocabulary, 6, at::kFloat};
};

TEST_F(BlockRolloutTest, FillsEveryPositionBlockAfterBlock) {
  for (const auto* remasking : {"low_confidence", "margin", "negative_entropy", "random"}) {
    const auto made = generate(model, prompts(3, 4), settings({{"remasking", remasking}}));
    EXPECT_TRUE((made.tokens_BL != model.traits().mask_id).all().item<bool>());
    for (std::int64_t b = 0; b < 12; ++b) {
      for (std::int64_t block = 1; block < kLength / kBlock; ++block) {
        const auto before = made.step_BL[b].narrow(0, (block - 1) * kBlock, kBlock).max().item<int>();
        const auto after = made.step_BL[b].narrow(0, block * kBlock, kBlock).min().item<int>();
        EXPECT_LT(before, after) << remasking;
      }
      EXPECT_EQ(made.step_BL[b].max().item<int>() + 1, made.forwards_B[b].item<std::int64_t>())
          << "a forward that committed nothing";
    }
  }
}

TEST_F(BlockRolloutTest, ARowIsTheSameAloneInAnyBatchOnAnyThreads) {
  const auto all = prompts(4, 4);
  const auto whole = generate(model, all, settings());
  const auto take = [&](std::int64_t first, std::int64_t count) {
    return Prompts{all.tokens_BP.narrow(0, first, count), all.mask_BP.narrow(0, first, count),
                   all.group_B.narrow(0, first, count)};
  };
  for (const std::int64_t b : {0, 5, 15}) {
    const auto alone = generate(model, take(b, 1), settings(), b);
    EXPECT_TRUE(at::equal(alone.tokens_BL[0], whole.tokens_BL[b])) << b;
    EXPECT_TRUE(at::equal(alone.step_BL[0], whole.step_BL[b])) << b;
  }
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  EXPECT_TRUE(same(generate(model, all, settings()), whole));
  at::set_num_threads(threads);
}

TEST_F(BlockRolloutTest, PaddingOnTheLeftChangesNothing) {
  const auto plain = prompts(2, 2);
  auto padded = plain;
  padded.tokens_BP = at::cat({at::zeros({4, 3}, at::kLong), plain.tokens_BP}, 1);
  padded.mask_BP = at::cat({at::zeros({4, 3}, at::kBool), plain.mask_BP}, 1);
  EXPECT_TRUE(same(generate(model, padded, settings()), generate(model, plain, settings())));
}

TEST_F(BlockRolloutTest, ResponsesOfAGroupDiffer) {
  const auto made = generate(model, prompts(1, 8), settings());
  EXPECT_FALSE(at::equal(made.tokens_BL[0], made.tokens_BL[1]));
}

TEST_F(BlockRolloutTest, GreedyIgnoresTheRandomPoint) {
  const auto greedy = settings({{"temperature", 0.0}});
  EXPECT_TRUE(same(generate(model, prompts(2, 2), greedy, 0), generate(model, prompts(2, 2), greedy, 1000)));
}

TEST_F(BlockRolloutTest, ADynamicStepCommitsAllThatReachTheThresholdOrTheSurest) {
  const auto made = generate(model, prompts(2, 4), settings());
  const auto probability = made.commit_logprob_BL.exp();
  for (std::int64_t b = 0; b < 8; ++b) {
    for (std::int64_t step = 0; step < made.forwards_B[b].item<std::int64_t>(); ++step) {
      const auto committed = probability[b].masked_select(made.step_BL[b] == step);
      if (committed.numel() > 1) {
        EXPECT_GE(committed.min().item<double>(), 0.3 - 1e-6);
      }
    }
  }
}

TEST_F(BlockRolloutTest, AnUnreachableThresholdGivesOneTokenPerStep) {
  const auto made = generate(model, prompts(2, 2), settings({{"threshold", 1.5}}));
  EXPECT_TRUE((made.forwards_B == kLength).all().item<bool>());
}

TEST_F(BlockRolloutTest, StaticCommitsByTheSchedule) {
  // 9 steps over 3 blocks of 4: three steps a block, committing 2, 1, 1.
  const auto made = generate(model, prompts(1, 1), settings({{"schedule", "static"}, {"steps", std::int64_t{9}}}));
  EXPECT_EQ(made.forwards_B[0].item<std::int64_t>(), 9);
  for (const int step : {0, 3, 6}) EXPECT_EQ((made.step_BL == step).sum().item<int>(), 2);
  for (const int step : {1, 2, 4, 5, 7, 8}) EXPECT_EQ((made.step_BL == step).sum().item<int>(), 1);
}

// Replays the recorded steps: the state before each step, computed in full, gives the recorded log-probabilities.
TEST_F(BlockRolloutTest, TheRecordReplays) {
  for (const auto row : {PredictionRow::kSame, PredictionRow::kPrevious}) {
    const test::TinyModel replayed(kVocabulary, 6, at::kFloat, row);
    const auto made = generate(replayed, prompts(2, 2), settings());
    const at::NoGradGuard no_gradient;
    for (std::int64_t b = 0; b < 4; ++b) {
      for (std::int64_t i = 0; i < kLength; ++i) {
        const int step = made.step_BL[b][i].item<int>();
        const auto state = at::where(made.step_BL[b] >= step, at::full({}, 1, at::kLong), made.tokens_BL[b]);
        const auto tokens = at::cat({made.prompts.tokens_BP[b], state}).unsqueeze(0);
        const std::int64_t hidden_row = kPrompt + i - (row == PredictionRow::kPrevious ? 1 : 0);
        const auto logits = replayed.forward({tokens, {}, {}})[hidden_row].matmul(replayed.lm_head_VH().t());
        const auto expected = at::log_softmax(logits, -1)[made.tokens_BL[b][i].item<std::int64_t>()].item<double>();
        EXPECT_NEAR(made.commit_logprob_BL[b][i].item<double>(), expected, 1e-5);
      }
    }
  }
}

TEST_F(BlockRolloutTest, ALengthThatBlocksDoNotDivideIsRefused) {
  EXPECT_THROW(test::create<Rollout>("block", "block", settings({{"block", std::int64_t{5}}})), Error);
}

TEST_F(BlockRolloutTest, ModelsThatAreNotFiniteStopTheRollout) {
  const at::NoGradGuard no_gradient;
  model.lm_head_VH().fill_(std::nanf(""));
  EXPECT_THROW(generate(model, prompts(1, 2), settings()), Error);
}

}  // namespace
}  // namespace drift
