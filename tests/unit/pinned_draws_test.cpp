// What is drawn at seed 1, pinned. A stream with another name, a draw at another point or in another order changes
// every run that was ever made with its seed: where that is meant, the values here change with it, and the changelog
// says so. Which streams the program hands out is pinned in tests/cli/random_streams_test.cpp.

#include <core/boundary/model_policy.h>
#include <core/record/significance.h>
#include <core/train/group_filter.h>

#include <drift/masking_strategy.h>
#include <drift/random.h>
#include <drift/rollout.h>
#include <drift/task.h>

#include "tests/support/dataset_files.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

namespace drift::pinned_draws_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

std::int64_t integer(std::int64_t value) { return value; }

// ---- the core's names ----

TEST(PinnedDraws, OfTheCoresStreams) {
  const std::map<std::string, std::uint64_t> pinned = {
      {"train/task", 0x25fb40f914988312},    {"train/rollout", 0xb4134ff7a60253b2},
      {"train/filter", 0x35060d551fd9c16b},  {"train/masking", 0xffe6ae8d52042702},
      {"pretrain/task", 0xeba79b75867ec883}, {"pretrain/mask ratio", 0xd28f081ad83bbc95},
      {"pretrain/mask", 0xf395585431a339a6}, {"initialize", 0xf92252a7bbcfaa83},
      {"generate", 0xf10d595e5cf1ff5a},      {"held out", 0x06e184954d4d692c},
      {"sign flips", 0xb3156cdc382bbc43},
  };
  for (const auto& [name, bits] : pinned) {
    const std::size_t slash = name.find('/');
    RandomStream stream(1, name.substr(0, slash));
    if (slash != name.npos) stream = stream.child(name.substr(slash + 1));
    EXPECT_EQ(stream.bits({1, 2, 3, 4}), bits) << name;
  }
}

// Eight groups whose rewards vary, room for three.
TEST(PinnedDraws, OfTheGroupFilter) {
  GroupFilterInput input;
  input.rewards_B = at::arange(16, at::kDouble);
  input.steps_B = at::ones_like(input.rewards_B, at::kLong);
  input.group_size = 2;
  input.random = RandomStream(1, "train").child("filter");
  input.solved_B = at::ones_like(input.rewards_B, at::kLong);
  std::vector<std::vector<std::int64_t>> kept;
  for (input.step = 1; input.step <= 3; ++input.step) kept.push_back(kept_groups(input, {true, 3, GroupFill::kNone}));
  EXPECT_THAT(kept, ElementsAre(ElementsAre(3, 4, 5), ElementsAre(0, 3, 6), ElementsAre(0, 3, 5)));
}

TEST(PinnedDraws, OfTheSignFlipTest) {
  EXPECT_DOUBLE_EQ(sign_flip_p({1, -0.5, 0.25, 0.75, 1, -0.25, 0.5}, 1, 999), 0.166);
}

// ---- masking strategies ----

/// Views as "response:forward masked" and, where prompts are masked, " prompt".
std::string views_of(const MaskPlan& plan) {
  std::string views;
  const auto bits = [](const at::Tensor& rows, std::int64_t view) {
    std::string text = " ";
    for (const double bit : test::numbers(rows, view)) text += bit != 0 ? '1' : '0';
    return text;
  };
  for (std::int64_t f = 0; f < plan.response_F.size(0); ++f) {
    views += (f == 0 ? "" : ", ") + std::to_string(plan.response_F[f].item<std::int64_t>()) + ":" +
             std::to_string(plan.term_F[f].item<std::int64_t>()) + bits(plan.masked_FL, f) +
             (plan.prompt_masked_FP.defined() ? bits(plan.prompt_masked_FP, f) : "");
  }
  return views;
}

struct Strategy {
  std::string plugin, name;
  Values values;
  std::string views;
};

const Strategy kStrategies[] = {
    {"rldf", "rldf", {{"k", integer(2)}}, "0:0 01110111, 0:1 01000100, 1:0 11111111, 1:1 01100110"},
    {"rldf", "random_masking", {{"k", integer(2)}}, "0:0 00000110, 0:1 10000001, 1:0 00000011, 1:1 00010100"},
    {"rldf", "coupled_random_masking", {}, "0:0 10111000, 0:1 01000111, 1:0 01011100, 1:1 10100011"},
    {"d1", "d1", {{"p_mask_prompt", 0.4}}, "0:0 11111111 000001, 1:0 11111111 111010"},
    {"tracerl",
     "tracerl_random",
     {{"mask_times", integer(3)}},
     "0:0 11111111, 0:1 11011111, 0:2 11111011, 1:0 10000011, 1:1 11011100, 1:2 00111101"},
    {"tracerl",
     "tracerl_coupled",
     {{"mask_times", integer(2)}},
     "0:0 11111111, 0:2 11011111, 0:3 00100000, 1:0 10000011, 1:1 01111100, 1:2 11011100, 1:3 00100011"},
    {"spg",
     "spg",
     {{"block", integer(4)}, {"mode", std::string("block_random")}, {"p_mask_prompt", 0.3}},
     "0:0 00011111 010001, 0:1 00001000 001000, 1:0 00111111 000000, 1:1 11000001 111001"},
    {"coupled_grpo",
     "coupled_grpo",
     {},
     "0:0 11111111, 0:1 11001111, 0:2 00110000, 1:0 11111111, 1:1 01011100, 1:2 10100011"},
    {"espo",
     "espo",
     {{"num_mc", integer(2)}},
     "0:0 00011010, 0:1 11100101, 0:2 11001011, 0:3 00110100, 1:0 11111111, 1:2 00000001, 1:3 11111110"},
    {"agrpo",
     "agrpo",
     {{"mc_samples", integer(3)}, {"surprise_share", 0.5}},
     "0:0 11111111, 0:1 01100110, 0:2 01000100, 1:0 11111111, 1:1 01100110, 1:2 01000100"},
    {"unigrpo", "unigrpo", {}, "0:0 11111111, 1:0 01011100"},
    {"gdpo", "gdpo", {}, "0:0 00001000, 0:1 01011010, 0:2 11011111, 1:0 00000001, 1:1 01011010, 1:2 01111111"},
    {"d2",
     "d2",
     {{"segments", integer(2)}, {"p_mask_prompt", 0.4}},
     "0:0 11111111 000001, 0:1 01100110 000001, 1:0 11111111 111010, 1:1 01100110 111010"},
    {"mdpo", "mdpo", {{"sample_train_steps", integer(2)}}, "0:0 01110111, 0:1 01000100, 1:0 11111111, 1:1 01100110"},
    {"vrpo",
     "vrpo",
     {{"num_t", integer(2)}, {"num_masks", integer(2)}},
     "0:0 01001010, 0:1 11010000, 0:2 11110110, 0:3 10111110, 1:0 01011000, 1:1 01101000, 1:2 00111110, "
     "1:3 11110100"},
    {"ebpo", "ebpo", {{"num_mc", integer(2)}}, "0:0 11011111, 0:1 10000111, 1:0 10000011, 1:1 00000100"},
};

// Two responses of eight tokens, written in four steps, in the second step of a run, at its second inner iteration.
TEST(PinnedDraws, OfTheMaskingStrategies) {
  auto trajectories = test::token_trajectories({{1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}}, 6);
  trajectories.step_BL = (at::arange(16, at::kLong) * 3).remainder(4).view({2, 8}).to(at::kInt);
  trajectories.forwards_B.fill_(4);
  trajectories.commit_logprob_BL = -at::arange(16, at::kFloat).view({2, 8}) / 8;
  MaskingInput input = test::masking_input(trajectories);
  input.step = 2;
  input.inner_iteration = 1;
  input.end_id = 99;
  for (const auto& [plugin, name, values, views] : kStrategies) {
    const auto strategy = test::create<MaskingStrategy>(plugin, name, values);
    EXPECT_EQ(views_of(test::draw_plan(*strategy, input)), views) << name;
  }
}

// ---- rollout ----

/// Tokens of four responses, 12 digits each, and the steps that wrote them.
std::vector<std::string> rollout_of(const char* name, Values values) {
  const test::TinyModel model(9, 6, at::kFloat);
  values.insert({{"length", integer(12)}, {"temperature", 1.0}});
  const auto rollout = test::create<Rollout>(name, name, values);
  RolloutInput input;
  const ModelPolicy policy(model);
  input.policy = &policy;
  input.prompts = test::make_trajectories(4, 2, 5, 12, 9, 0).prompts;
  input.random = RandomStream(1, "train").child("rollout");
  input.step = 2;
  Trajectories made;
  const at::NoGradGuard no_gradient;
  rollout->generate(input, made);
  std::vector<std::string> texts;
  for (std::int64_t b = 0; b < 4; ++b) {
    std::string text;
    for (const double token : test::numbers(made.tokens_BL, b)) text += std::to_string(static_cast<int>(token));
    text += " ";
    for (const double step : test::numbers(made.step_BL, b)) text += static_cast<char>('a' + static_cast<int>(step));
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::string> block_of(const char* remasking) {
  return rollout_of("block", {{"block", integer(4)}, {"threshold", 0.3}, {"remasking", std::string(remasking)}});
}

TEST(PinnedDraws, OfTheBlockRolloutAndItsRemasking) {
  EXPECT_THAT(block_of("low_confidence"), ElementsAre("534538548603 cabadedfgijh", "538533553833 abcbfgdehjki",
                                                      "334538554323 cbdaehgfjkil", "538538583853 acbaedgfhkji"));
  EXPECT_THAT(block_of("random"), ElementsAre("234338072032 aabbdeccffff", "583853573657 baaaccccdded",
                                              "435544303302 abaaccdeffgg", "545574448540 abaadccdfeee"));
}

TEST(PinnedDraws, OfTheDiffusionRolloutAndItsOrders) {
  EXPECT_THAT(rollout_of("diffusion", {{"steps", integer(6)}, {"top_p", 0.9}}),
              ElementsAre("554577542073 cbdaedafbfec", "535853552557 cbdaceafbfed", "334542554343 bbdacdcfafee",
                          "535548582450 bbdacdcfafee"));
  EXPECT_THAT(rollout_of("diffusion", {{"steps", integer(6)}, {"order_temperature", 0.3}}),
              ElementsAre("838565432403 defaedbfbcca", "245523583253 fdfbeeadccba", "637545358357 edcacfdfbaeb",
                          "576534548480 badbecadcffe"));
  EXPECT_THAT(rollout_of("diffusion", {{"steps", integer(6)}, {"order", "origin"}}),
              ElementsAre("553324073433 ebdbafcbadfe", "534828540665 dcbabfeabddb", "450540543332 beecbdbfcfad",
                          "338563858552 ccbadcdacccb"));
}

// ---- tasks; the puzzles of Sudoku: sudoku_task_test ----

std::vector<std::string> training_prompts(const Task& task, std::int64_t count) {
  std::vector<std::string> prompts;
  for (std::int64_t i = 0; i < count; ++i) {
    TaskItem item;
    task.training_item(i, RandomStream(1, "train").child("task"), item);
    prompts.push_back(item.prompt + (item.demonstration.empty() ? "" : " " + item.demonstration));
  }
  return prompts;
}

TEST(PinnedDraws, OfCountdownsPuzzles) {
  const auto task = test::create<Task>("countdown_task", "countdown", {{"number_high", integer(20)}});
  EXPECT_THAT(training_prompts(*task, 6),
              ElementsAre("<|startoftext|>9,2,14=21<|sep|> 9+14-2", "<|startoftext|>11,4,13=96<|sep|> 11+4+13",
                          "<|startoftext|>9,15,14=38<|sep|> 9+15+14", "<|startoftext|>13,8,16=26<|sep|> 13*16/8",
                          "<|startoftext|>1,6,11=18<|sep|> 1+6+11", "<|startoftext|>1,9,16=26<|sep|> 1+9+16"));
  std::vector<std::string> held_out(6);
  for (std::size_t i = 0; i < held_out.size(); ++i) {
    TaskItem item;
    task->held_out_item(static_cast<std::int64_t>(i), item);
    held_out[i] = item.prompt;
  }
  EXPECT_THAT(held_out, ElementsAre("<|startoftext|>18,19,16=16<|sep|>", "<|startoftext|>2,1,9=10<|sep|>",
                                    "<|startoftext|>14,1,2=29<|sep|>", "<|startoftext|>19,12,14=21<|sep|>",
                                    "<|startoftext|>16,9,6=70<|sep|>", "<|startoftext|>6,12,3=15<|sep|>"));
}

using PinnedOrder = test::DatasetFiles;

TEST_F(PinnedOrder, OfADataset) {
  const auto task = open(numbered(8));
  EXPECT_THAT(training_prompts(*task, 16), ElementsAre("q3", "q6", "q5", "q1", "q7", "q0", "q2", "q4", "q0", "q1", "q2",
                                                       "q3", "q7", "q6", "q5", "q4"));
}

// ---- weights ----

/// The first number of some tensors after an initialization at seed 1.
std::vector<double> first_weights(const char* family, const std::vector<std::string>& names) {
  const auto model = test::open_checkpoint(family, test::source_dir() / ("assets/sudoku-" + std::string(family)));
  const at::NoGradGuard no_gradient;
  model->initialize(RandomStream(1, "initialize"));
  std::map<std::string, double> first;
  for (const auto& [name, tensor] : model->parameters()) first[name] = tensor.view({-1})[0].item<double>();
  std::vector<double> values;
  for (const std::string& name : names) values.push_back(first.at(name));
  return values;
}

TEST(PinnedDraws, OfTheFirstWeights) {
  EXPECT_THAT(first_weights("llada", {"model.transformer.wte.weight", "model.transformer.blocks.3.ff_out.weight"}),
              testing::Pointwise(testing::DoubleNear(1e-6), {0.298191, -0.0036931}));
  EXPECT_THAT(first_weights("dream", {"model.embed_tokens.weight", "model.layers.3.mlp.down_proj.weight"}),
              testing::Pointwise(testing::DoubleNear(1e-6), {-0.0287634, -0.00844502}));
}

}  // namespace drift::pinned_draws_test
