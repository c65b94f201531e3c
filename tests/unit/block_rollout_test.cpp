// The block rollout on a tiny model: what it promises whatever the model is.

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

namespace drift::block_rollout_test {

constexpr std::int64_t kVocabulary = 9, kPrompt = 5, kLength = 12, kBlock = 4;

std::map<std::string, Parameter::Value> settings(const std::map<std::string, Parameter::Value>& more = {}) {
  std::map<std::string, Parameter::Value> all{
      {"length", kLength}, {"block", kBlock}, {"threshold", 0.3}, {"temperature", 1.0}};
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

Prompts prompts(std::int64_t groups, std::int64_t group_size) {
  return test::make_trajectories(groups * group_size, group_size, kPrompt, kLength, kVocabulary, 0).prompts;
}

Trajectories generate(const Model& model, const Prompts& given, const std::map<std::string, Parameter::Value>& values,
                      std::int64_t first_response = 0) {
  return test::roll_out("block", values, model, given, first_response);
}

struct BlockRolloutTest : ::testing::Test {
  test::TinyModel model{kVocabulary, 6, at::kFloat};
};

TEST_F(BlockRolloutTest, GreedyIgnoresTheRandomPoint) {
  const auto greedy = settings({{"temperature", 0.0}});
  EXPECT_TRUE(
      test::same_responses(generate(model, prompts(2, 2), greedy, 0), generate(model, prompts(2, 2), greedy, 1000)));
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

TEST_F(BlockRolloutTest, ACacheOfAModelWithoutOneIsRefusedByName) {
  for (const auto* cache : {"prefix", "dual"})
    EXPECT_THAT(test::error_of([&] {
                  generate(model, prompts(1, 2), settings({{"cache", cache}}));
                }),
                testing::AllOf(testing::HasSubstr("the model family tiny keeps no keys and values"),
                               testing::HasSubstr("rollout.cache = \"none\"")));
}

TEST_F(BlockRolloutTest, ACancelledRolloutEndsWithEveryKindOfQuirk) {
  const std::atomic<bool> cancelled{true};
  for (const std::vector<std::string>& quirks : std::vector<std::vector<std::string>>{
           {},
           {"counts_batch", "writes_any_id", "all_forwards", "goes_back", "ends_on_schedule"},
           {"counts_batch", "second_forward", "first_position", "time_grid", "padding_ends_batch"}}) {
    const auto rollout = test::create<Rollout>("block", "block", settings({{"quirks", quirks}}));
    const ModelPolicy policy(model);
    RolloutInput input;
    input.policy = &policy;
    input.prompts = prompts(1, 2);
    input.cancelled = &cancelled;
    Trajectories made;
    const at::NoGradGuard no_gradient;
    rollout->generate(input, made);
    EXPECT_TRUE((made.step_BL == -1).all().item<bool>()) << quirks.size();
  }
}

// Some pairs are no original's. Where a mask token may be written, there may be an error instead of a response.
TEST_F(BlockRolloutTest, AnyTwoQuirksEndWithEverySchedule) {
  const auto& specs = test::load_plugin("block").find(ComponentKind::kRollout, "block")->params;
  auto all = std::ranges::find(specs, "quirks", &Parameter::name)->allowed.choices;
  std::erase_if(all, [](const std::string& name) {  // of models with block attention
    return name == "stores_last_block" || name == "fills_last_block" || name == "drops_remainder";
  });
  for (const std::string& first : all) {
    for (const std::string& second : all) {
      for (const auto* schedule : {"dynamic", "static", "factor"}) {
        SCOPED_TRACE(first + ", " + second + ", " + schedule);
        const bool may_mask = first == "writes_any_id" || second == "writes_any_id";
        const std::vector<std::string> quirks{first, second};
        const auto values = settings({{"quirks", quirks}, {"schedule", schedule}, {"steps", std::int64_t{7}}});
        try {
          const auto made = generate(model, prompts(1, 2), values);
          EXPECT_TRUE(may_mask || (made.tokens_BL != model.traits().mask_id).all().item<bool>());
        } catch (const Error& error) {
          EXPECT_TRUE(may_mask) << error.what();
        }
      }
    }
  }
}

TEST_F(BlockRolloutTest, SettingsThatContradictEachOtherAreRefused) {
  EXPECT_THROW(test::create<Rollout>("block", "block", settings({{"guidance", 1.0}, {"cache", "prefix"}})), Error);
  EXPECT_THROW(test::create<Rollout>("block", "block",
                                     settings({{"unsure_ids", std::vector<std::int64_t>{3}}, {"remasking", "margin"}})),
               Error);
  EXPECT_THROW(
      test::create<Rollout>("block", "block",
                            settings({{"unsure_ids", std::vector<std::int64_t>{3}}, {"confidence_of", "draw"}})),
      Error);
  EXPECT_THROW(
      test::create<Rollout>("block", "block",
                            settings({{"early_stop", true}, {"quirks", std::vector<std::string>{"goes_back"}}})),
      Error);
  EXPECT_THROW(test::create<Rollout>("block", "block", settings({{"top_p", 0.0}})), Error);
  EXPECT_THROW(generate(model, prompts(1, 1), settings({{"forbidden_ids", std::vector<std::int64_t>{kVocabulary}}})),
               Error);
}

TEST_F(BlockRolloutTest, ForbiddenIdsAreNeverWrittenAndUnsureOnesComeLast) {
  const std::vector<std::int64_t> forbidden{2, 3, 4};
  const auto without = generate(model, prompts(4, 4), settings({{"forbidden_ids", forbidden}}));
  for (const std::int64_t id : forbidden) EXPECT_FALSE((without.tokens_BL == id).any().item<bool>()) << id;
  const auto made =
      generate(model, prompts(4, 4), settings({{"unsure_ids", std::vector<std::int64_t>{5}}, {"schedule", "static"}}));
  ASSERT_TRUE((made.tokens_BL == 5).any().item<bool>());
  // One token a forward: an unsure one is committed only where every position of the block drew one, so a block's last
  // position is far likelier to hold it than its first.
  const auto is_unsure = (made.tokens_BL == 5).view({-1, kBlock}), step = made.step_BL.view({-1, kBlock});
  const auto at_place = [&](const at::Tensor& place) { return (is_unsure & (step == place)).sum().item<int>(); };
  EXPECT_LT(4 * at_place(step.amin(1, true)), at_place(step.amax(1, true)));
}

TEST_F(BlockRolloutTest, AnEndTokenEndsTheResponseWithItsBlock) {
  model.also_ends_with(5);
  const auto made = generate(model, prompts(8, 4), settings({{"early_stop", true}}));
  const auto& traits = model.traits();
  int stopped = 0;
  for (std::int64_t b = 0; b < 32; ++b) {
    bool ended = false;
    for (std::int64_t begin = 0; begin < kLength; begin += kBlock) {
      const auto tokens = made.tokens_BL[b].narrow(0, begin, kBlock), step = made.step_BL[b].narrow(0, begin, kBlock);
      EXPECT_EQ((step < 0).all().item<bool>(), ended);
      if (ended) {
        EXPECT_TRUE((tokens == traits.pad_id).all().item<bool>());
      }
      ended = ended || ((tokens == traits.end_id) | (tokens == 5)).any().item<bool>();
    }
    stopped += made.step_BL[b].min().item<int>() < 0 ? 1 : 0;
  }
  EXPECT_GT(stopped, 0);
}

TEST_F(BlockRolloutTest, GuidanceMovesAwayFromThePromptsAbsence) {
  const auto plain = generate(model, prompts(2, 2), settings({{"temperature", 0.0}}));
  const auto guided = generate(model, prompts(2, 2), settings({{"temperature", 0.0}, {"guidance", 4.0}}));
  EXPECT_FALSE(at::equal(plain.commit_logprob_BL, guided.commit_logprob_BL));
  EXPECT_TRUE((guided.tokens_BL != model.traits().mask_id).all().item<bool>());
}

// Two positions, one token a forward: the distribution of the response by enumeration of both forwards' draws.
TEST_F(BlockRolloutTest, ResponsesHaveTheirExactProbabilities) {
  constexpr std::int64_t kDraws = 100000;
  const auto one = prompts(1, 1);
  const Prompts many{one.tokens_BP.expand({kDraws, kPrompt}).contiguous(), {}, at::zeros({kDraws}, at::kLong)};
  const at::NoGradGuard no_gradient;
  const ModelPolicy policy(model);
  const std::int64_t mask = model.traits().mask_id;
  const double temperature = 0.7;
  const auto log_probabilities = [&](std::int64_t first, std::int64_t second) {
    ForwardInput input;
    input.tokens_BS = at::cat({one.tokens_BP, at::tensor({first, second}, at::kLong).unsqueeze(0)}, 1);
    input.rows_N = at::tensor({kPrompt, kPrompt + 1}, at::kLong);
    return policy.logits(input, {}).to(at::kDouble);
  };
  const auto drawn = [&](const at::Tensor& logits_V) {
    auto allowed = logits_V / temperature;
    allowed[mask] = -std::numeric_limits<double>::infinity();
    return at::softmax(allowed, -1);
  };
  const auto start = log_probabilities(mask, mask);
  const auto confidence = at::softmax(start, -1);
  std::vector<double> expected(kVocabulary * kVocabulary, 0);
  for (std::int64_t a = 0; a < kVocabulary; ++a) {
    for (std::int64_t b = 0; b < kVocabulary; ++b) {
      const double both = drawn(start[0])[a].item<double>() * drawn(start[1])[b].item<double>();
      if (both == 0) continue;
      const bool first = confidence[0][a].item<double>() >= confidence[1][b].item<double>();
      const auto rest = drawn(log_probabilities(first ? a : mask, first ? mask : b)[first ? 1 : 0]);
      for (std::int64_t v = 0; v < kVocabulary; ++v) {
        expected[static_cast<std::size_t>(first ? a * kVocabulary + v : v * kVocabulary + b)] +=
            both * rest[v].item<double>();
      }
    }
  }
  const auto made = generate(
      model, many,
      {{"length", std::int64_t{2}}, {"block", std::int64_t{2}}, {"schedule", "static"}, {"temperature", temperature}});
  std::vector<std::int64_t> counted(expected.size(), 0);
  for (std::int64_t b = 0; b < kDraws; ++b) {
    const std::int64_t* row = made.tokens_BL.const_data_ptr<std::int64_t>() + 2 * b;
    ++counted[static_cast<std::size_t>(row[0] * kVocabulary + row[1])];
  }
  test::expect_frequencies(counted, expected);
}

// The order's temperature draws positions without replacement: the first by softmax(confidence / temperature).
TEST_F(BlockRolloutTest, OrderTemperatureDrawsPositions) {
  constexpr std::int64_t kDraws = 100000;
  const auto one = prompts(1, 1);
  const Prompts many{one.tokens_BP.expand({kDraws, kPrompt}).contiguous(), {}, at::zeros({kDraws}, at::kLong)};
  const at::NoGradGuard no_gradient;
  ForwardInput start;
  start.tokens_BS = at::cat({one.tokens_BP, at::full({1, kBlock}, model.traits().mask_id, at::kLong)}, 1);
  start.rows_N = at::arange(kPrompt, kPrompt + kBlock, at::kLong);
  const auto probability = at::softmax(ModelPolicy(model).logits(start, {}).to(at::kDouble), -1);
  const auto legal = probability.index_fill(1, at::tensor({model.traits().mask_id}, at::kLong), 0);
  const auto made = generate(model, many,
                             {{"length", kBlock},
                              {"block", kBlock},
                              {"schedule", "static"},
                              {"temperature", 0.0},
                              {"order_temperature", 0.1}});
  std::vector<std::int64_t> counts(kBlock);
  for (const double position : test::numbers(made.step_BL.argmin(-1))) ++counts[static_cast<std::size_t>(position)];
  test::expect_frequencies(counts, test::numbers(at::softmax(legal.amax(-1) / 0.1, -1)));
}

TEST_F(BlockRolloutTest, ModelsThatAreNotFiniteStopTheRollout) {
  const at::NoGradGuard no_gradient;
  model.lm_head_VH().fill_(std::nanf(""));
  EXPECT_THROW(generate(model, prompts(1, 2), settings()), Error);
}

}  // namespace drift::block_rollout_test
