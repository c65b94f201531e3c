// The block rollout on the LLaDA backbone against the original's greedy traces.

#include <drift/model.h>
#include <drift/rollout.h>

#include <core/boundary/model_policy.h>
#include <core/io/safetensors.h>
#include <core/rollout/originals.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace drift::rollout_traces_test {
namespace {

std::filesystem::path data() { return test::source_dir() / "tests/golden/data"; }

std::unique_ptr<Model> open_llada() { return test::open_checkpoint("llada", data() / "ckpt/llada_a"); }

struct Trace {
  const char* file;
  std::map<std::string, Parameter::Value> rollout;
};

Trajectories decode(const Model& model, const std::map<std::string, Parameter::Value>& settings,
                    const at::Tensor& prompt_ids, const at::Tensor& prompt_mask) {
  return test::roll_out("block", settings, model, {prompt_ids, prompt_mask, at::arange(prompt_ids.size(0), at::kLong)});
}

// The original counts a forward even where a block was already finished, so only the order of its steps is compared.
TEST(BlockRolloutGolden, GreedyTraces) {
  const auto model = open_llada();
  const std::vector<Trace> traces = {
      {"drift_llada_static_nocache_b1",
       {{"length", std::int64_t{32}},
        {"block", std::int64_t{8}},
        {"steps", std::int64_t{16}},
        {"schedule", "static"},
        {"temperature", 0.0}}},
      {"drift_llada_dyn_nocache_b1",
       {{"length", std::int64_t{32}}, {"block", std::int64_t{8}}, {"threshold", 0.6}, {"temperature", 0.0}}},
  };
  for (const auto& trace : traces) {
    const SafetensorsFile file(data() / "decode" / (std::string(trace.file) + ".safetensors"));
    const auto prompt = file.tensor("prompt_ids");
    const auto got = decode(*model, trace.rollout, prompt, at::ones_like(prompt, at::kBool));
    const auto tokens = file.tensor("tokens");
    EXPECT_TRUE(at::equal(got.tokens_BL, tokens.narrow(1, prompt.size(1), tokens.size(1) - prompt.size(1))))
        << trace.file;
    EXPECT_TRUE(at::equal(got.step_BL.to(at::kLong), file.tensor("commit_step"))) << trace.file;
    EXPECT_TRUE(at::allclose(got.commit_logprob_BL.exp(), file.tensor("token_probs"), 0, 1e-4)) << trace.file;
    EXPECT_TRUE(at::equal(got.valid_BL.to(at::kLong), file.tensor("completion_mask"))) << trace.file;
  }
}

template <class T>
std::vector<T> first_row(const at::Tensor& tensor_BL) {
  const T* const data = tensor_BL.const_data_ptr<T>();
  return {data, data + tensor_BL.size(1)};
}

// Of decoders that are written a second time (decode_fixture.py): every horizon around 0, the block and the length,
// every `alg` with each cache and schedule, and tokens that are masks.
TEST(BlockRolloutGolden, TranscribedTraces) {
  std::map<std::string, std::unique_ptr<Model>> models;
  for (const char* family : {"llada", "dream"})
    models[std::string(family) + "_a"] = test::open_checkpoint(family, data() / "ckpt" / (std::string(family) + "_a"));
  const auto file = test::source_dir() / "tests/golden/decode_traces.json";
  const auto traces = nlohmann::json::parse(test::read_file(file));
  ASSERT_GT(traces.at("cases").size(), 100u);
  for (const auto& trace : traces.at("cases")) {
    SCOPED_TRACE(trace.at("id"));
    const auto original = Original(data() / "originals.json", trace.at("algorithm")).translate(trace, file.string());
    const auto prompt = at::tensor(trace.at("prompt").get<std::vector<std::int64_t>>(), at::kLong).unsqueeze(0);
    const auto got = test::roll_out(original.rollout, original.settings, *models.at(trace.at("checkpoint")),
                                    {prompt, at::ones_like(prompt, at::kBool), at::zeros({1}, at::kLong)});
    EXPECT_EQ(first_row<std::int64_t>(got.tokens_BL), trace.at("tokens").get<std::vector<std::int64_t>>());
    EXPECT_EQ(first_row<std::int32_t>(got.step_BL), trace.at("commit_step").get<std::vector<std::int32_t>>());
    EXPECT_EQ(got.forwards_B.item<std::int64_t>(), *original.forwards);
    const auto probability = at::where(got.step_BL >= 0, got.commit_logprob_BL.exp(), 0);
    const auto wanted = at::tensor(trace.at("commit_prob").get<std::vector<double>>(), at::kFloat).unsqueeze(0);
    EXPECT_TRUE(at::allclose(probability, wanted, 0, 1e-4));
  }
}

TEST(BlockRolloutGolden, APaddedRowIsWhatTheRowAloneIs) {
  const auto model = open_llada();
  const SafetensorsFile file(data() / "decode/drift_llada_static_nocache_b3pad.safetensors");
  const auto got = decode(*model,
                          {{"length", std::int64_t{16}},
                           {"block", std::int64_t{8}},
                           {"steps", std::int64_t{8}},
                           {"schedule", "static"},
                           {"temperature", 0.0}},
                          file.tensor("prompt_ids"), file.tensor("prompt_mask").to(at::kBool));
  EXPECT_TRUE(at::equal(got.tokens_BL, file.tensor("alone_tokens")));
}

// Defects of the release on LLaDA beside what is done without it; other quirks: block_commit_rule_test.
TEST(BlockRolloutQuirks, PaddingIsAttendedTo) {
  const auto model = open_llada();
  const SafetensorsFile file(data() / "decode/drift_llada_static_nocache_b3pad.safetensors");
  const std::map<std::string, Parameter::Value> settings = {{"length", std::int64_t{16}},
                                                            {"block", std::int64_t{8}},
                                                            {"steps", std::int64_t{8}},
                                                            {"schedule", "static"},
                                                            {"temperature", 0.0}};
  auto quirky = settings;
  quirky["quirks"] = std::vector<std::string>{"attends_padding"};
  const auto prompt = file.tensor("prompt_ids"), mask = file.tensor("prompt_mask").to(at::kBool);
  const auto written = file.tensor("tokens").narrow(1, prompt.size(1), 16);
  EXPECT_TRUE(at::equal(decode(*model, quirky, prompt, mask).tokens_BL, written));
  EXPECT_FALSE(at::equal(decode(*model, settings, prompt, mask).tokens_BL, written));
}

TEST(BlockRolloutQuirks, TheMostUncertainPositionGoesFirst) {
  const auto model = open_llada();
  const auto prompt = at::arange(10, at::kLong).unsqueeze(0);
  const auto mask = at::ones_like(prompt, at::kBool);
  ForwardInput start;
  start.tokens_BS = at::cat({prompt, at::full({1, 8}, model->traits().mask_id, at::kLong)}, 1);
  start.rows_N = at::arange(10, 18, at::kLong);
  const at::NoGradGuard no_gradient;
  const auto log_probability = at::log_softmax(ModelPolicy(*model).logits(start, {}), -1);
  const auto entropy = -(log_probability.exp() * log_probability).sum(-1);
  std::map<std::string, Parameter::Value> settings = {{"length", std::int64_t{8}},
                                                      {"block", std::int64_t{8}},
                                                      {"schedule", "static"},
                                                      {"temperature", 0.0},
                                                      {"remasking", "negative_entropy"}};
  const auto first = [&] {
    return (decode(*model, settings, prompt, mask).step_BL[0] == 0).nonzero()[0][0].item<int>();
  };
  EXPECT_EQ(first(), entropy.argmin().item<int>());
  settings["quirks"] = std::vector<std::string>{"highest_entropy"};
  EXPECT_EQ(first(), entropy.argmax().item<int>());
}

TEST(BlockRolloutQuirks, IdsWithoutATokenAreWritten) {
  const auto model = test::open_checkpoint("dream", data() / "ckpt/dream_a");
  const std::int64_t illegal = model->traits().mask_id + 2;
  const at::NoGradGuard no_gradient;
  auto head = model->lm_head_VH();
  head.select(0, illegal).copy_(100 * head.select(0, 5));  // it or its opposite is the likeliest
  head.select(0, illegal + 1).copy_(-head.select(0, illegal));
  const auto prompt = at::arange(10, at::kLong).unsqueeze(0);
  std::map<std::string, Parameter::Value> settings = {
      {"length", std::int64_t{8}}, {"block", std::int64_t{8}}, {"temperature", 0.0}};
  const auto most = [&] {
    return decode(*model, settings, prompt, at::ones_like(prompt, at::kBool)).tokens_BL.max().item<std::int64_t>();
  };
  EXPECT_LT(most(), model->traits().mask_id);
  settings["quirks"] = std::vector<std::string>{"writes_any_id"};
  EXPECT_GE(most(), illegal);
}

// Dream predicts a position from the row before it; its original has different decoding rules, so what is compared here
// is that padding and batch do not matter and that nothing illegal is written.
TEST(BlockRollout, OnDreamARowIsTheRowAloneAndLegal) {
  const auto model = test::open_checkpoint("dream", data() / "ckpt/dream_a");
  const auto& traits = model->traits();
  const std::map<std::string, Parameter::Value> settings = {
      {"length", std::int64_t{24}}, {"block", std::int64_t{8}}, {"threshold", 0.5}, {"temperature", 1.0}};
  const auto whole = (at::arange(30, at::kLong) * 41 + 7).remainder(250).view({3, 10});
  auto padded = whole.clone();
  auto mask = at::ones_like(whole, at::kBool);
  for (std::int64_t row = 0; row < 3; ++row) {
    padded[row].narrow(0, 0, 2 * row).fill_(traits.pad_id);
    mask[row].narrow(0, 0, 2 * row).fill_(false);
  }
  const auto together = decode(*model, settings, padded, mask);
  EXPECT_LT(together.tokens_BL.max().item<std::int64_t>(), traits.mask_id);
  // Draws depend on the response's number: row 0 is number 0 in both.
  const auto prompt = padded.narrow(0, 0, 1);
  const auto alone = decode(*model, settings, prompt, at::ones_like(prompt, at::kBool));
  EXPECT_TRUE(at::equal(together.tokens_BL.narrow(0, 0, 1), alone.tokens_BL));
  auto greedy = settings;
  greedy["temperature"] = 0.0;
  const auto greedy_together = decode(*model, greedy, padded, mask);
  for (std::int64_t row = 0; row < 3; ++row) {
    const auto unpadded = padded.narrow(0, row, 1).narrow(1, 2 * row, 10 - 2 * row);
    const auto greedy_alone = decode(*model, greedy, unpadded, at::ones_like(unpadded, at::kBool));
    EXPECT_TRUE(at::equal(greedy_together.tokens_BL.narrow(0, row, 1), greedy_alone.tokens_BL)) << "row " << row;
  }
}

}  // namespace
}  // namespace drift::rollout_traces_test
