// The block rollout on the LLaDA backbone against the original's greedy traces.

#include <drift/model.h>
#include <drift/rollout.h>

#include <core/io/safetensors.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>

#include <gtest/gtest.h>

namespace drift {
namespace {

std::filesystem::path data() { return test::source_dir() / "tests/golden/data"; }

std::unique_ptr<Model> open_llada() { return test::open_checkpoint("llada", data() / "ckpt/llada_a"); }

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

}  // namespace
}  // namespace drift
