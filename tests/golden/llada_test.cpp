// The LLaDA backbone and the block rollout against the original model code: logits, log-probabilities, gradients,
// greedy traces.

#include <drift/model.h>
#include <drift/rollout.h>

#include <core/io/checkpoint.h>
#include <core/io/safetensors.h>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/autograd/autograd.h>

#include <gtest/gtest.h>

namespace drift {
namespace {

std::filesystem::path data() { return test::source_dir() / "tests/golden/data"; }

std::unique_ptr<Model> open_llada(const std::filesystem::path& folder) {
  const ModelConfig config{read_config_json(folder)};
  const ComponentEntry* entry = test::load_plugin("llada").find(ComponentKind::kModel, "llada");
  std::unique_ptr<Model> model(dynamic_cast<Model*>(entry->create(Params(entry->params), &config).release()));
  const at::NoGradGuard no_gradient;
  load_parameters(folder, model->parameters());
  return model;
}

at::Tensor logits(const Model& model, const at::Tensor& tokens_BS, const at::Tensor& key_mask_BS = {}) {
  const auto hidden = model.forward({tokens_BS, key_mask_BS, {}});
  return hidden.matmul(model.lm_head_VH().t()).view({tokens_BS.size(0), tokens_BS.size(1), -1});
}

TEST(LladaGolden, Logits) {
  const auto model = open_llada(data() / "llada_a");
  const SafetensorsFile file(data() / "fwd_llada_a_plain.safetensors");
  EXPECT_TRUE(at::allclose(logits(*model, file.tensor("input_ids")), file.tensor("logits"), 1e-5, 2.9e-4));
}

TEST(LladaGolden, LogitsOfALongSequence) {
  const auto shared = test::shared_dir();
  if (shared.empty()) GTEST_SKIP() << "the shared data folder is not there";
  const auto model = open_llada(shared / "data/golden/ckpt/llada_a");
  const SafetensorsFile file(shared / "data/golden/forward/fwd_llada_a_long.safetensors");
  EXPECT_TRUE(at::allclose(logits(*model, file.tensor("input_ids")), file.tensor("logits"), 1e-5, 8.5e-4));
}

TEST(LladaGolden, LogitsWithPaddingOnTheLeft) {
  const auto model = open_llada(data() / "llada_a");
  const SafetensorsFile file(data() / "fwd_llada_a_leftpad_keymask.safetensors");
  const auto got = logits(*model, file.tensor("input_ids"), file.tensor("attention_mask").to(at::kBool));
  const auto compare = file.tensor("compare_mask").to(at::kBool);
  EXPECT_TRUE(at::allclose(got.index({compare}), file.tensor("logits").index({compare}), 1e-5, 2.2e-4));
}

TEST(LladaGolden, OnlyWantedRowsGiveTheSameRows) {
  const auto model = open_llada(data() / "llada_a");
  const SafetensorsFile file(data() / "fwd_llada_a_plain.safetensors");
  const auto tokens = file.tensor("input_ids");
  const auto rows = at::arange(3, tokens.numel(), 4, at::kLong);
  const auto all = model->forward({tokens, {}, {}});
  EXPECT_TRUE(at::allclose(model->forward({tokens, {}, rows}), all.index_select(0, rows), 1e-5, 1e-5));
}

TEST(LladaGolden, LogProbabilitiesAndGradients) {
  const auto model = open_llada(data() / "llada_a");
  const SafetensorsFile file(data() / "logp_llada_a_drift.safetensors");
  const auto completion = file.tensor("completion_ids");
  const auto masked = file.tensor("masked_input");
  const std::int64_t prompt = masked.size(1) - completion.size(1);
  const auto response_logits = logits(*model, masked).narrow(1, prompt, completion.size(1));
  const auto logps = at::log_softmax(response_logits, -1).gather(2, completion.unsqueeze(-1)).squeeze(-1) *
                     file.tensor("completion_mask");
  EXPECT_TRUE(at::allclose(logps, file.tensor("logps"), 1e-5, 2e-4));

  const auto loss = (logps * file.tensor("target_mask")).sum();
  EXPECT_NEAR(loss.item<double>(), -293.480712890625, 2e-3);
  std::size_t compared = 0;
  for (const auto& parameter : model->parameters()) {
    if (file.find("grad." + parameter.name) == nullptr) continue;
    const auto gradient = torch::autograd::grad({loss}, {parameter.tensor}, {}, /*retain_graph=*/true).front();
    EXPECT_TRUE(at::allclose(gradient, file.tensor("grad." + parameter.name), 1e-5, 3.7e-3)) << parameter.name;
    ++compared;
  }
  EXPECT_EQ(compared, 2u);
}

struct Trace {
  const char* file;
  std::map<std::string, ParamValue> rollout;
};

Trajectories decode(const Model& model, const std::map<std::string, ParamValue>& settings, const at::Tensor& prompt_ids,
                    const at::Tensor& prompt_mask) {
  const auto rollout = test::create<Rollout>("block", "block", settings);
  RolloutInput input;
  input.model = &model;
  input.prompts = {prompt_ids, prompt_mask, at::arange(prompt_ids.size(0), at::kLong)};
  Trajectories trajectories;
  const at::NoGradGuard no_gradient;
  rollout->generate(input, trajectories);
  return trajectories;
}

// The original counts a forward even where a block was already finished, so only the order of its steps is compared.
TEST(BlockRolloutGolden, GreedyTraces) {
  const auto model = open_llada(data() / "llada_a");
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
    const SafetensorsFile file(data() / (std::string(trace.file) + ".safetensors"));
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

TEST(BlockRolloutGolden, APaddedRowIsWhatTheRowAloneIs) {
  const auto model = open_llada(data() / "llada_a");
  const SafetensorsFile file(data() / "drift_llada_static_nocache_b3pad.safetensors");
  const auto got = decode(*model,
                          {{"length", std::int64_t{16}},
                           {"block", std::int64_t{8}},
                           {"steps", std::int64_t{8}},
                           {"schedule", "static"},
                           {"temperature", 0.0}},
                          file.tensor("prompt_ids"), file.tensor("prompt_mask").to(at::kBool));
  EXPECT_TRUE(at::equal(got.tokens_BL, file.tensor("alone_tokens")));
}

}  // namespace
}  // namespace drift
