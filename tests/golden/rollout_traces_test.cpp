// The block rollout on the LLaDA backbone against the original's greedy traces, and padded rows in both rollouts.

#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <drift/model.h>
#include <drift/rollout.h>

#include <core/boundary/model_policy.h>
#include <core/io/safetensors.h>
#include <core/rollout/originals.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"

#include <ATen/ops/log_softmax.h>

namespace drift::rollout_traces_test {

using Values = std::map<std::string, Parameter::Value>;

std::filesystem::path data() { return test::source_dir() / "tests/golden/data"; }

std::unique_ptr<Model> open(const std::string& family) {
  return test::open_checkpoint(family, data() / "ckpt" / (family + "_a"));
}

Trajectories decode(const Model& model, const Values& settings, const at::Tensor& prompt_ids,
                    const at::Tensor& prompt_mask, const std::string& rollout = "block") {
  return test::roll_out(rollout, settings, model, {prompt_ids, prompt_mask, at::arange(prompt_ids.size(0), at::kLong)});
}

Trajectories decode(const Model& model, const Values& settings, const at::Tensor& prompt_ids) {
  return decode(model, settings, prompt_ids, at::ones_like(prompt_ids, at::kBool));
}

/// Greedy, in blocks of 8.
Values greedy(std::int64_t length, Values more = {}) {
  more.merge(Values{{"length", length}, {"block", std::int64_t{8}}, {"temperature", 0.0}});
  return more;
}

Values greedy_static(std::int64_t length, std::int64_t steps) {
  return greedy(length, {{"steps", steps}, {"schedule", "static"}});
}

// The original counts a forward even where a block was already finished, so only the order of its steps is compared.
TEST(BlockRolloutGolden, GreedyTraces) {
  const auto model = open("llada");
  const std::map<std::string, Values> traces = {
      {"drift_llada_static_nocache_b1", greedy_static(32, 16)},
      {"drift_llada_dyn_nocache_b1", greedy(32, {{"threshold", 0.6}})},
  };
  for (const auto& [trace, settings] : traces) {
    const SafetensorsFile file(data() / "decode" / (trace + ".safetensors"));
    const auto prompt = file.tensor("prompt_ids");
    const auto got = decode(*model, settings, prompt);
    const auto tokens = file.tensor("tokens");
    EXPECT_TRUE(at::equal(got.tokens_BL, tokens.narrow(1, prompt.size(1), tokens.size(1) - prompt.size(1)))) << trace;
    EXPECT_TRUE(at::equal(got.step_BL.to(at::kLong), file.tensor("commit_step"))) << trace;
    EXPECT_TRUE(at::allclose(got.commit_logprob_BL.exp(), file.tensor("token_probs"), 0, 1e-4)) << trace;
    EXPECT_TRUE(at::equal(got.valid_BL.to(at::kLong), file.tensor("completion_mask"))) << trace;
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
  for (const std::string family : {"llada", "dream"}) models[family + "_a"] = open(family);
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

// One of the release's defects on LLaDA beside what is done without it; other quirks: block_commit_rule_test.
TEST(BlockRolloutGolden, APaddedRowIsWhatTheRowAloneIsUnlessPaddingIsAttendedTo) {
  const auto model = open("llada");
  const SafetensorsFile file(data() / "decode/drift_llada_static_nocache_b3pad.safetensors");
  const auto prompt = file.tensor("prompt_ids"), mask = file.tensor("prompt_mask").to(at::kBool);
  const auto written = file.tensor("tokens").narrow(1, prompt.size(1), 16);
  Values settings = greedy_static(16, 8);
  const auto tokens = decode(*model, settings, prompt, mask).tokens_BL;
  EXPECT_TRUE(at::equal(tokens, file.tensor("alone_tokens")));
  EXPECT_FALSE(at::equal(tokens, written));
  settings["quirks"] = std::vector<std::string>{"attends_padding"};
  EXPECT_TRUE(at::equal(decode(*model, settings, prompt, mask).tokens_BL, written));
}

TEST(BlockRolloutQuirks, TheMostUncertainPositionGoesFirst) {
  const auto model = open("llada");
  const auto prompt = at::arange(10, at::kLong).unsqueeze(0);
  ForwardInput start;
  start.tokens_BS = at::cat({prompt, at::full({1, 8}, model->traits().mask_id, at::kLong)}, 1);
  start.rows_N = at::arange(10, 18, at::kLong);
  const at::NoGradGuard no_gradient;
  const auto log_probability = at::log_softmax(ModelPolicy(*model).logits(start, {}), -1);
  const auto entropy = -(log_probability.exp() * log_probability).sum(-1);
  Values settings = greedy(8, {{"schedule", "static"}, {"remasking", "negative_entropy"}});
  const auto first = [&] { return (decode(*model, settings, prompt).step_BL[0] == 0).nonzero()[0][0].item<int>(); };
  EXPECT_EQ(first(), entropy.argmin().item<int>());
  settings["quirks"] = std::vector<std::string>{"highest_entropy"};
  EXPECT_EQ(first(), entropy.argmax().item<int>());
}

TEST(BlockRolloutQuirks, IdsWithoutATokenAreWritten) {
  const auto model = open("dream");
  const std::int64_t illegal = model->traits().mask_id + 2;
  const at::NoGradGuard no_gradient;
  auto head = model->lm_head_VH();
  head.select(0, illegal).copy_(100 * head.select(0, 5));  // it or its opposite is the likeliest
  head.select(0, illegal + 1).copy_(-head.select(0, illegal));
  const auto prompt = at::arange(10, at::kLong).unsqueeze(0);
  Values settings = greedy(8);
  const auto most = [&] { return decode(*model, settings, prompt).tokens_BL.max().item<std::int64_t>(); };
  EXPECT_LT(most(), model->traits().mask_id);
  settings["quirks"] = std::vector<std::string>{"writes_any_id"};
  EXPECT_GE(most(), illegal);
}

// Draws depend on the response's number: row 0 is number 0 in the batch and alone.
TEST(PaddedRows, OfBothBackbonesAreTheRowsAloneAndLegal) {
  struct Tried {
    std::string rollout;
    Values settings;
    std::int64_t compared = 3;
  };
  std::vector<Tried> all = {{"block", greedy(24, {{"threshold", 0.5}})},
                            {"block", greedy(24, {{"threshold", 0.5}, {"temperature", 1.0}}), 1}};
  for (const std::string order : {"maskgit_plus", "topk_margin", "entropy", "origin"}) {
    const Values settings = {{"length", std::int64_t{16}},
                             {"steps", std::int64_t{7}},
                             {"order", order},
                             {"temperature", 0.0},
                             {"top_p", 0.9},
                             {"guidance", 0.5}};
    all.push_back({"diffusion", settings, order == "origin" ? 1 : 3});
  }
  for (const std::string family : {"llada", "dream"}) {
    const auto model = open(family);
    auto padded = (at::arange(30, at::kLong) * 41 + 7).remainder(250).view({3, 10});
    auto mask = at::ones_like(padded, at::kBool);
    for (std::int64_t row = 0; row < 3; ++row) {
      padded[row].narrow(0, 0, 2 * row).fill_(model->traits().pad_id);
      mask[row].narrow(0, 0, 2 * row).fill_(false);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(family + ", " + all[i].rollout + ", number " + std::to_string(i));
      const auto together = decode(*model, all[i].settings, padded, mask, all[i].rollout);
      for (const auto& [begin, end] : model->traits().forbidden_output_ids) {
        EXPECT_FALSE(((together.tokens_BL >= begin) & (together.tokens_BL < end)).any().item<bool>());
      }
      for (std::int64_t row = 0; row < all[i].compared; ++row) {
        const auto unpadded = padded.narrow(0, row, 1).narrow(1, 2 * row, 10 - 2 * row);
        const auto unmasked = at::ones_like(unpadded, at::kBool);
        const auto alone = decode(*model, all[i].settings, unpadded, unmasked, all[i].rollout);
        EXPECT_TRUE(at::equal(together.tokens_BL.narrow(0, row, 1), alone.tokens_BL)) << "row " << row;
        EXPECT_TRUE(at::equal(together.step_BL.narrow(0, row, 1), alone.step_BL)) << "row " << row;
      }
    }
  }
}

}  // namespace drift::rollout_traces_test
