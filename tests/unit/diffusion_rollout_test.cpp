// The diffusion rollout on a tiny model: what it promises whatever the model is. Exact traces:
// tests/golden/diffusion_traces_test.cpp.

#include <drift/error.h>
#include <drift/rollout.h>

#include "tests/support/frequencies.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

#include <core/boundary/model_policy.h>

#include <ATen/Parallel.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softmax.h>

namespace drift::diffusion_rollout_test {

constexpr std::int64_t kVocabulary = 9, kPrompt = 5, kLength = 12, kMask = 1;
constexpr const char* kOrders[] = {"maskgit_plus", "topk_margin", "entropy", "origin"};
const std::vector<std::string> kNone, kDream{"counts_batch", "writes_any_id", "time_grid"};

using Values = std::map<std::string, Parameter::Value>;

std::int64_t integer(std::int64_t value) { return value; }

Values with(const Values& more) {
  Values all{{"length", kLength}, {"steps", integer(5)}};
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

Prompts prompts(std::int64_t groups, std::int64_t group_size) {
  return test::make_trajectories(groups * group_size, group_size, kPrompt, kLength, kVocabulary, 0).prompts;
}

/// `count` responses to one prompt.
Prompts one_prompt(std::int64_t count) {
  return {at::full({count, 2}, 4, at::kLong), at::ones({count, 2}, at::kBool), at::zeros({count}, at::kLong)};
}

Trajectories generate(const Model& model, const Prompts& given, const Values& values, std::int64_t first_response = 0) {
  return test::roll_out("diffusion", values, model, given, first_response);
}

struct DiffusionRolloutTest : ::testing::Test {
  /// Logits of the response after a prompt.
  at::Tensor logits(const Model& of, const at::Tensor& prompt_P, const at::Tensor& state_L) const {
    const at::NoGradGuard no_gradient;
    const std::int64_t before = of.traits().prediction_row == PredictionRow::kPrevious ? 1 : 0;
    const auto hidden = of.forward({at::cat({prompt_P, state_L}).unsqueeze(0), {}, {}});
    return hidden.narrow(0, prompt_P.size(0) - before, state_L.size(0)).matmul(of.lm_head_VH().t());
  }

  test::TinyModel model{kVocabulary, 6, at::kFloat};
};

TEST_F(DiffusionRolloutTest, OrdersByConfidenceShareThePositionsOutOverTheSteps) {
  const auto commits = [&](const Values& more) {
    const auto made = generate(model, prompts(1, 1), with(more));
    std::vector<std::int64_t> counts;
    for (std::int64_t step = 0; step < made.forwards_B.item<std::int64_t>(); ++step)
      counts.push_back((made.step_BL == step).sum().item<std::int64_t>());
    return counts;
  };
  const std::vector<std::int64_t> one_each(12, 1);
  EXPECT_EQ(commits({}), (std::vector<std::int64_t>{3, 3, 2, 2, 2}));
  EXPECT_EQ(commits({{"steps", integer(0)}}), one_each);
  EXPECT_EQ(commits({{"steps", integer(40)}}), one_each);
  // The original rounds down an expected number: its first step of as many as positions commits nothing.
  std::vector<std::int64_t> of_dream(12, 1);
  of_dream.front() = 0;
  of_dream.back() = 2;
  EXPECT_EQ(commits({{"steps", integer(12)}, {"quirks", kDream}}), of_dream);
}

TEST_F(DiffusionRolloutTest, ARowIsTheSameAloneInAnyBatchOnAnyThreads) {
  const auto all = prompts(4, 4);
  const auto take = [&](std::int64_t first) {
    return Prompts{all.tokens_BP.narrow(0, first, 1), all.mask_BP.narrow(0, first, 1), all.group_B.narrow(0, first, 1)};
  };
  const int threads = at::get_num_threads();
  for (const auto* order : kOrders) {
    for (const auto& quirks : {kNone, kDream}) {
      for (const double temperature : {0.0, 1.0}) {
        SCOPED_TRACE(std::string(order) + ", " + std::to_string(quirks.size()) + " quirks, temperature " +
                     std::to_string(temperature));
        const auto values = with({{"order", order},
                                  {"quirks", quirks},
                                  {"temperature", temperature},
                                  {"order_temperature", temperature / 4},
                                  {"top_p", 0.9}});
        const auto whole = generate(model, all, values);
        for (const std::int64_t b : {0, 5, 15}) {
          const auto alone = generate(model, take(b), values, b);
          EXPECT_TRUE(at::equal(alone.tokens_BL[0], whole.tokens_BL[b])) << b;
          EXPECT_TRUE(at::equal(alone.step_BL[0], whole.step_BL[b])) << b;
          EXPECT_TRUE(at::equal(alone.forwards_B[0], whole.forwards_B[b])) << b;
        }
        at::set_num_threads(1);
        EXPECT_TRUE(test::same_responses(generate(model, all, values), whole));
        at::set_num_threads(threads);
      }
    }
  }
}

// Replays the recorded steps: the state before each step gives the recorded log-probabilities.
TEST_F(DiffusionRolloutTest, TheRecordReplays) {
  for (const auto row : {PredictionRow::kSame, PredictionRow::kPrevious}) {
    const test::TinyModel replayed(kVocabulary, 6, at::kFloat, row);
    for (const auto* order : kOrders) {
      const auto made = generate(replayed, prompts(2, 2), with({{"order", order}}));
      for (std::int64_t b = 0; b < 4; ++b) {
        for (std::int64_t i = 0; i < kLength; ++i) {
          const auto step = made.step_BL[b][i];
          const auto state = at::where(made.step_BL[b] >= step, at::full({}, kMask, at::kLong), made.tokens_BL[b]);
          const auto expected = at::log_softmax(logits(replayed, made.prompts.tokens_BP[b], state), -1);
          EXPECT_NEAR(made.commit_logprob_BL[b][i].item<double>(),
                      expected[i][made.tokens_BL[b][i].item<std::int64_t>()].item<double>(), 1e-5);
        }
      }
    }
  }
}

TEST_F(DiffusionRolloutTest, GuidanceMovesTheLogitsAwayFromThoseWithoutThePrompt) {
  const auto made = generate(model, one_prompt(1), with({{"steps", integer(1)}, {"guidance", 1.5}}));
  const auto masked = at::full({kLength}, kMask, at::kLong);
  const auto conditional = logits(model, made.prompts.tokens_BP[0], masked);
  const auto unconditional = logits(model, at::full({2}, kMask, at::kLong), masked);
  const auto expected = at::log_softmax(unconditional + 2.5 * (conditional - unconditional), -1);
  for (std::int64_t i = 0; i < kLength; ++i) {
    EXPECT_NEAR(made.commit_logprob_BL[0][i].item<double>(),
                expected[i][made.tokens_BL[0][i].item<std::int64_t>()].item<double>(), 1e-5);
  }
  EXPECT_EQ(made.forwards_B.item<std::int64_t>(), 1);
}

TEST_F(DiffusionRolloutTest, StopsWhereEverythingUpToTheFirstEndTokenIsCommitted) {
  const auto values = with({{"steps", integer(0)}, {"order", "origin"}});
  auto early = values;
  early["early_stop"] = true;
  model.also_ends_with(5);
  const auto full = generate(model, prompts(16, 4), values), made = generate(model, prompts(16, 4), early);
  const std::int64_t end = model.traits().end_id;
  std::int64_t stopped = 0;
  for (std::int64_t b = 0; b < 64; ++b) {
    const auto forwards = made.forwards_B[b].item<std::int64_t>();
    bool ended = false;
    for (std::int64_t i = 0; i < kLength; ++i) {
      if (made.step_BL[b][i].item<int>() >= 0) {
        EXPECT_TRUE(at::equal(made.tokens_BL[b][i], full.tokens_BL[b][i]));
        EXPECT_TRUE(at::equal(made.step_BL[b][i], full.step_BL[b][i]));
      } else {
        EXPECT_TRUE(ended) << "a masked position before the end";
        EXPECT_EQ(made.tokens_BL[b][i].item<std::int64_t>(), model.traits().pad_id);
        EXPECT_EQ(made.commit_logprob_BL[b][i].item<float>(), 0);
        EXPECT_GE(full.step_BL[b][i].item<int>(), forwards) << "it was already committed";
      }
      const auto token = made.tokens_BL[b][i].item<std::int64_t>();
      ended = ended || ((token == end || token == 5) && made.step_BL[b][i].item<int>() >= 0);
    }
    stopped += forwards < full.forwards_B[b].item<std::int64_t>() ? 1 : 0;
  }
  EXPECT_GT(stopped, 2);
}

TEST_F(DiffusionRolloutTest, ForbiddenIdsAreNeverWritten) {
  for (const auto& quirks : {kNone, kDream}) {
    const auto made = generate(
        model, prompts(4, 4), with({{"forbidden_ids", std::vector<std::int64_t>{0, kMask, 5, 8}}, {"quirks", quirks}}));
    for (const std::int64_t id : {0, 1, 5, 8}) EXPECT_FALSE((made.tokens_BL == id).any().item<bool>()) << id;
  }
}

// t runs from 1 to eps: a position is committed at step i with probability t(i) - t(i + 1), and at the last one if it
// is still masked.
TEST_F(DiffusionRolloutTest, OriginCommitsByChance) {
  constexpr std::int64_t kResponses = 25000, kSteps = 3;
  const auto made = generate(model, one_prompt(kResponses),
                             {{"length", integer(4)},
                              {"steps", kSteps},
                              {"order", "origin"},
                              {"eps", 0.1},
                              {"quirks", kDream},
                              {"forbidden_ids", std::vector<std::int64_t>{kMask}}});
  std::vector<std::int64_t> counts(kSteps);
  for (const double step : test::numbers(made.step_BL)) ++counts[static_cast<std::size_t>(step)];
  test::expect_frequencies(counts, {0.3, 0.3, 0.4});
  EXPECT_TRUE((made.forwards_B == kSteps).all().item<bool>());
}

// Without quirks a step at which chance commits nothing has no forward. Two positions over two steps: the first step
// commits each with probability 0.45.
TEST_F(DiffusionRolloutTest, OriginWithoutQuirksHasNoForwardThatCommitsNothing) {
  constexpr std::int64_t kResponses = 100000;
  const auto made = generate(model, one_prompt(kResponses),
                             {{"length", integer(2)}, {"steps", integer(2)}, {"order", "origin"}, {"eps", 0.1}});
  std::vector<std::int64_t> counts(3);  // together, left first, right first
  const auto steps = test::numbers(made.step_BL), forwards = test::numbers(made.forwards_B);
  for (std::size_t b = 0; b < kResponses; ++b) {
    const double left = steps[2 * b], right = steps[2 * b + 1];
    ++counts[left == right ? 0 : left < right ? 1 : 2];
    EXPECT_EQ(forwards[b], std::max(left, right) + 1);
  }
  test::expect_frequencies(counts, {0.45 * 0.45 + 0.55 * 0.55, 0.45 * 0.55, 0.45 * 0.55});
}

TEST_F(DiffusionRolloutTest, TokensAreDrawnFromTheModelsDistribution) {
  constexpr std::int64_t kResponses = 100000;
  const auto prompt = one_prompt(kResponses);
  auto raw = logits(model, prompt.tokens_BP[0], at::full({1}, kMask, at::kLong))[0].to(at::kDouble) / 0.7;
  raw[kMask] = -std::numeric_limits<double>::infinity();
  for (const auto* order : {"origin", "entropy"}) {
    const auto made = generate(model, prompt, {{"length", integer(1)}, {"order", order}, {"temperature", 0.7}});
    std::vector<std::int64_t> counts(kVocabulary);
    for (const double token : test::numbers(made.tokens_BL)) ++counts[static_cast<std::size_t>(token)];
    test::expect_frequencies(counts, test::numbers(at::softmax(raw, -1)));
  }
}

// The order's temperature draws positions without replacement: the first by softmax(confidence / temperature).
TEST_F(DiffusionRolloutTest, OrderTemperatureDrawsPositions) {
  constexpr std::int64_t kResponses = 100000, kPositions = 4;
  const auto prompt = one_prompt(kResponses);
  auto raw = logits(model, prompt.tokens_BP[0], at::full({kPositions}, kMask, at::kLong)).to(at::kDouble);
  raw.select(1, kMask).fill_(-std::numeric_limits<double>::infinity());
  const auto confidence = std::get<0>(at::softmax(raw, -1).max(-1));
  const auto made =
      generate(model, prompt,
               {{"length", kPositions}, {"order", "maskgit_plus"}, {"temperature", 0.0}, {"order_temperature", 0.1}});
  std::vector<std::int64_t> counts(kPositions);
  for (const double position : test::numbers(made.step_BL.argmin(-1))) ++counts[static_cast<std::size_t>(position)];
  test::expect_frequencies(counts, test::numbers(at::softmax(confidence / 0.1, -1)));
}

TEST_F(DiffusionRolloutTest, WhatCannotBeIsRefused) {
  EXPECT_THROW(test::create<Rollout>("diffusion", "diffusion", with({{"early_stop", true}, {"quirks", kDream}})),
               Error);
  const auto vocabulary = std::vector<std::int64_t>{model.traits().vocabulary_size};
  EXPECT_THROW(generate(model, prompts(1, 2), with({{"forbidden_ids", vocabulary}})), Error);
  const at::NoGradGuard no_gradient;
  model.lm_head_VH().fill_(std::nanf(""));
  for (const auto* order : kOrders) EXPECT_THROW(generate(model, prompts(1, 2), with({{"order", order}})), Error);
}

}  // namespace drift::diffusion_rollout_test
