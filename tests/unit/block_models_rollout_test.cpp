// The block rollout on models with block attention: what it promises whatever the options are.

#include <core/boundary/model_policy.h>
#include <core/eval/trace_policy.h>

#include <drift/error.h>
#include <drift/rollout.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <gmock/gmock.h>

namespace drift::block_models_rollout_test {

using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<Model> open(const std::string& family, const std::string& checkpoint, Values settings = {}) {
  const auto folder = test::source_dir() / "tests/golden/block/ckpt" / checkpoint;
  return test::open_checkpoint(family, folder, at::kDouble, at::kCPU, settings);
}

constexpr std::int64_t kLength = 11;

Trajectories generate(const Model& model, const Prompts& prompts, Values settings, std::int64_t first = 0) {
  settings.emplace("length", kLength);
  settings.emplace("temperature", 1.0);
  return test::roll_out("block", settings, model, prompts, first);
}

Prompts row_of(const Prompts& prompts, std::int64_t b) {
  const auto one = [&](const at::Tensor& tensor) { return tensor.narrow(0, b, 1); };
  return {one(prompts.tokens_BP), one(prompts.mask_BP), one(prompts.group_B), {}};
}

struct Case {
  const char* name;
  const char *family, *checkpoint;
  Values settings;
};

void PrintTo(const Case& one, std::ostream* to) { *to << one.name; }

struct BlockModelDecoder : ::testing::TestWithParam<Case> {
  std::unique_ptr<Model> model = open(GetParam().family, GetParam().checkpoint, model_settings());
  static Values model_settings() {
    if (std::string(GetParam().checkpoint) == "sdar_a") return {};
    if (std::string(GetParam().checkpoint) == "trado_a")
      return {{"block_size", std::int64_t{4}}, {"mask_id", std::int64_t{149}}};
    return {{"mask_id", std::int64_t{149}}};
  }
};

// Groups share a prompt, and that of group 1 is padded.
TEST_P(BlockModelDecoder, ARowIsTheSameAloneAndInABatch) {
  const auto prompts = test::prompts_of_groups({0, 0, 1, 1, 2}, 10);
  const auto together = generate(*model, prompts, GetParam().settings, 7);
  EXPECT_GT((together.step_BL >= 0).sum().item<std::int64_t>(), 0);
  for (std::int64_t b = 0; b < 5; ++b) {
    const auto alone = generate(*model, row_of(prompts, b), GetParam().settings, 7 + b);
    EXPECT_TRUE(at::equal(alone.tokens_BL[0], together.tokens_BL[b])) << b;
    EXPECT_TRUE(at::equal(alone.step_BL[0], together.step_BL[b])) << b;
    EXPECT_EQ(alone.forwards_B[0].item<std::int64_t>(), together.forwards_B[b].item<std::int64_t>()) << b;
    EXPECT_TRUE(at::allclose(alone.commit_logprob_BL[0], together.commit_logprob_BL[b], 0, 1e-5)) << b;
  }
}

TEST_P(BlockModelDecoder, PaddingOnTheLeftChangesNothing) {
  const auto prompts = test::prompts_of_groups({0}, 9);
  Prompts padded = prompts;
  padded.tokens_BP = at::cat({at::full({1, 3}, model->traits().pad_id, at::kLong), prompts.tokens_BP}, 1);
  padded.mask_BP = at::cat({at::zeros({1, 3}, at::kBool), prompts.mask_BP}, 1);
  const auto plain = generate(*model, prompts, GetParam().settings),
             shifted = generate(*model, padded, GetParam().settings);
  EXPECT_TRUE(at::equal(plain.tokens_BL, shifted.tokens_BL));
  EXPECT_TRUE(at::equal(plain.step_BL, shifted.step_BL));
  EXPECT_TRUE(at::equal(plain.forwards_B, shifted.forwards_B));
}

TEST_P(BlockModelDecoder, ForwardsAreWithinTheEstimate) {
  const auto rollout = test::create<Rollout>("block", "block", [] {
    Values settings = GetParam().settings;
    settings.emplace("length", kLength);
    return settings;
  }());
  const auto* knows = capability<RolloutCostEstimate>(*rollout);
  ASSERT_NE(knows, nullptr);
  RolloutCost cost;
  knows->estimate_cost(*model, 10, 5, true, cost);
  for (const std::int64_t prompt : {1, 7, 8, 10}) {
    const auto made = generate(*model, test::prompts_of_groups({0, 0, 2}, prompt), GetParam().settings);
    EXPECT_GE(made.forwards_B.min().item<std::int64_t>(), cost.least_forwards);
    EXPECT_LE(made.forwards_B.max().item<std::int64_t>(), cost.most_forwards);
  }
  EXPECT_GT(cost.bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Options, BlockModelDecoder,
    ::testing::Values(
        Case{"dynamic", "sdar", "sdar_a", {{"threshold", 0.2}}},
        Case{"static_of_two", "sdar", "sdar_a", {{"schedule", "static"}, {"block_steps", std::int64_t{2}}}},
        Case{"random", "sdar", "trado_a", {{"schedule", "static"}, {"remasking", "random"}}},
        Case{"bounded",
             "sdar",
             "sdar_a",
             {{"schedule", "entropy_bounded"}, {"remasking", "negative_entropy"}, {"threshold", 5.0}}},
        Case{"filtered", "sdar", "sdar_a", {{"top_k", std::int64_t{20}}, {"top_p", 0.9}, {"confidence_of", "draw"}}},
        Case{
            "stops",
            "sdar",
            "sdar_a",
            {{"threshold", 0.0}, {"stop_ids", std::vector<std::int64_t>{1, 2, 3, 44, 90, 55}}, {"stop_at_once", true}}},
        Case{"next", "fast_dllm_v2", "fast_dllm_v2_a", {{"threshold", 0.2}}},
        Case{"small_blocks", "fast_dllm_v2", "fast_dllm_v2_a", {{"threshold", 0.2}, {"small_block", std::int64_t{4}}}},
        Case{"small_block_cache",
             "fast_dllm_v2",
             "fast_dllm_v2_a",
             {{"threshold", 0.2}, {"small_block", std::int64_t{4}}, {"small_block_cache", true}}}),
    [](const auto& info) { return info.param.name; });

// All tokens before the stop are those of a response that goes on.
TEST(Stops, LeaveTheTextBeforeThem) {
  const auto model = open("sdar", "sdar_a");
  const auto prompts = test::prompts_of_groups({0, 1, 2, 3}, 6);
  const auto whole = generate(*model, prompts, {});
  const std::int64_t stop = whole.tokens_BL[0][5].item<std::int64_t>();
  for (const bool at_once : {false, true}) {
    const auto made =
        generate(*model, prompts, {{"stop_ids", std::vector<std::int64_t>{stop}}, {"stop_at_once", at_once}});
    const auto committed_BL = made.step_BL >= 0;
    EXPECT_TRUE(at::equal(made.tokens_BL.masked_select(committed_BL), whole.tokens_BL.masked_select(committed_BL)));
    EXPECT_TRUE((made.tokens_BL.masked_select(~committed_BL) == model->traits().pad_id).all().item<bool>());
    EXPECT_LT(made.forwards_B[0].item<std::int64_t>(), whole.forwards_B[0].item<std::int64_t>());
  }
}

// Where a row predicts the next token, the prompt's own forward draws the first one.
TEST(Stops, OfThePromptsForwardEndAResponseBeforeItsFirstBlock) {
  const auto model = open("fast_dllm_v2", "fast_dllm_v2_a", {{"mask_id", std::int64_t{149}}});
  const auto prompts = test::prompts_of_groups({0}, 16);
  const Values greedy = {{"temperature", 0.0}};
  const std::int64_t first = generate(*model, prompts, greedy).tokens_BL[0][0].item<std::int64_t>();
  const ModelPolicy policy(*model);
  const TracePolicy watched(policy, {});
  Values stops = {{"length", kLength}, {"stop_ids", std::vector<std::int64_t>{first}}, {"stop_at_once", true}};
  stops.merge(Values(greedy));
  const auto made = test::roll_out("block", stops, watched, prompts, 0);
  EXPECT_EQ(made.tokens_BL[0][0].item<std::int64_t>(), first);
  EXPECT_EQ(watched.calls().size(), 1u);
}

TEST(Settings, ThatDoNotGoWithTheModelAreRefused) {
  const auto blocks = open("sdar", "sdar_a");
  const auto prompts = test::prompts_of_groups({0}, 6);
  const auto refusal = [&](const Values& settings) {
    return test::error_of([&] { generate(*blocks, prompts, settings); });
  };
  EXPECT_THAT(refusal({{"cache", "prefix"}}), testing::HasSubstr("the exact keys are always kept"));
  EXPECT_THAT(refusal({{"steps", std::int64_t{4}}}), testing::HasSubstr("rollout.block_steps"));
  EXPECT_THAT(refusal({{"block", kLength}}), testing::HasSubstr("the model's blocks have 4 tokens"));
  EXPECT_THAT(refusal({{"small_block", std::int64_t{3}}}), testing::HasSubstr("does not divide"));
  EXPECT_THAT(refusal({{"append", true}}), testing::HasSubstr("nothing behind a block is ever seen"));
  EXPECT_THAT(refusal({{"quirks", std::vector<std::string>{"goes_back"}}}), testing::HasSubstr("fills_last_block"));
}

}  // namespace drift::block_models_rollout_test
