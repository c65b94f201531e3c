// The block rollout's loop for devices, run on the CPU, writes what its other loop writes.

#include "plugins/rollouts/block/decoder.h"
#include "plugins/rollouts/block/tensor_decoder.h"

#include <core/boundary/model_policy.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

namespace drift::block::block_tensor_decoder_test {
namespace {

constexpr std::int64_t kResponses = 6, kPrompt = 7;

BlockSettings random_settings(const RandomStream& random) {
  std::int64_t key = 0;
  const auto pick = [&](auto... choices) {
    const std::array all{choices...};
    return all[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(all.size()), {0, key++, 0, 0}))];
  };
  BlockSettings settings;
  settings.block = pick(1, 3, 8);
  settings.length = settings.block * pick(1, 2, 3);
  settings.schedule = pick(Schedule::kDynamic, Schedule::kStatic, Schedule::kFactor);
  settings.steps = pick(std::int64_t{1}, std::int64_t{5}, settings.length);
  settings.threshold = pick(0.02, 0.3, 0.9);
  settings.factor = pick(0.5, 2.0);
  settings.remasking =
      pick(Remasking::kLowConfidence, Remasking::kMargin, Remasking::kNegativeEntropy, Remasking::kRandom);
  settings.temperature = pick(0.0, 1.0);
  settings.cache = pick(Cache::kNone, Cache::kPrefix, Cache::kDual);
  settings.horizon = pick(-1, 2);
  settings.early_stop = pick(false, true);
  settings.pad_penalty = pick(1.0, 3.0);
  settings.order_temperature = pick(0.0, 0.5);
  settings.top_p = pick(1.0, 0.9);
  settings.top_k = pick(0, 0, 20);
  settings.confidence_of = pick(ConfidenceOf::kLogits, ConfidenceOf::kDraw);
  if (settings.cache == Cache::kNone) settings.guidance = pick(0.0, 0.7);
  if (pick(0, 1) == 1) settings.forbidden_ids = {3, 78};
  const bool may_be_unsure =
      settings.remasking == Remasking::kLowConfidence && settings.confidence_of == ConfidenceOf::kLogits;
  if (may_be_unsure && pick(0, 1) == 1) settings.unsure_ids = {5, 90};
  return settings;
}

Trajectories empty_trajectories(const Prompts& prompts, const BlockSettings& settings) {
  Trajectories made;
  made.prompts = prompts;
  made.tokens_BL = at::zeros({kResponses, settings.length}, at::kLong);
  made.step_BL = at::zeros({kResponses, settings.length}, at::kInt);
  made.commit_logprob_BL = at::zeros({kResponses, settings.length}, at::kFloat);
  made.forwards_B = at::zeros({kResponses}, at::kLong);
  return made;
}

struct TensorDecoderTest : ::testing::TestWithParam<const char*> {};

TEST_P(TensorDecoderTest, WritesTheSameTrajectories) {
  const std::string family = GetParam();
  const auto model = test::open_checkpoint(
      family, test::source_dir() / "tests/golden/data/ckpt" / (family == "dream" ? "dream_pad" : "llada_a"),
      at::kDouble);
  const ModelPolicy policy(*model);
  RolloutInput input;
  input.policy = &policy;
  input.prompts.tokens_BP = (at::arange(kResponses * kPrompt, at::kLong) * 31 + 5).remainder(100).view({-1, kPrompt});
  input.prompts.mask_BP = at::ones({kResponses, kPrompt}, at::kBool);
  input.prompts.mask_BP.narrow(0, 1, 2).narrow(1, 0, 3).fill_(false);
  input.prompts.group_B = at::arange(kResponses, at::kLong);
  input.random = RandomStream(5, "rollout");
  input.first_response = 3;
  const at::NoGradGuard no_gradient;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const BlockSettings settings = random_settings(RandomStream(seed, "settings"));
    Trajectories by_rows = empty_trajectories(input.prompts, settings),
                 by_tensors = empty_trajectories(input.prompts, settings);
    std::vector<RowForwards> forwards(kResponses);
    BlockDecoder(settings, input, 0, kResponses, 4).run(by_rows, forwards);
    TensorDecoder(settings, input, 0, 2).run(by_tensors);
    TensorDecoder(settings, input, 2, kResponses).run(by_tensors);
    EXPECT_TRUE(at::equal(by_rows.tokens_BL, by_tensors.tokens_BL)) << seed;
    EXPECT_TRUE(at::equal(by_rows.step_BL, by_tensors.step_BL)) << seed;
    EXPECT_TRUE(at::equal(by_rows.forwards_B, by_tensors.forwards_B)) << seed;
    EXPECT_LT((by_rows.commit_logprob_BL - by_tensors.commit_logprob_BL).abs().max().item<float>(), 1e-5) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TensorDecoderTest, testing::Values("llada", "dream"));

}  // namespace
}  // namespace drift::block::block_tensor_decoder_test
