// The diffusion rollout's loop for devices, run on the CPU, writes what its other loop writes.

#include "plugins/rollouts/diffusion/decoder.h"
#include "plugins/rollouts/diffusion/tensor_decoder.h"

#include <core/boundary/model_policy.h>

#include <drift/error.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <array>

namespace drift::diffusion::diffusion_tensor_decoder_test {
namespace {

constexpr std::int64_t kResponses = 6, kPrompt = 7;

DiffusionSettings random_settings(const RandomStream& random) {
  std::int64_t key = 0;
  const auto pick = [&](auto... choices) {
    const std::array all{choices...};
    return all[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(all.size()), {0, key++, 0, 0}))];
  };
  DiffusionSettings settings;
  settings.length = pick(1, 5, 12);
  settings.steps = pick(std::int64_t{1}, std::int64_t{5}, settings.length, 2 * settings.length);
  settings.order = pick(Order::kMaskgitPlus, Order::kTopkMargin, Order::kEntropy, Order::kOrigin);
  settings.order_temperature = pick(0.0, 0.5);
  settings.temperature = pick(0.0, 1.0);
  settings.top_k = pick(0, 0, 20);
  settings.top_p = pick(1.0, 0.9);
  settings.eps = 1e-3;
  settings.guidance = pick(0.0, 0.0, 0.7);
  settings.early_stop = pick(false, true);
  if (pick(0, 1) == 1) settings.forbidden_ids = {3, 78};
  return settings;
}

class TensorDecoding : public testing::TestWithParam<const char*> {
 protected:
  TensorDecoding() {
    const std::string family = GetParam();
    model_ = test::open_checkpoint(
        family, test::source_dir() / "tests/golden/data/ckpt" / (family == "dream" ? "dream_pad" : "llada_a"),
        at::kDouble);
    policy_.emplace(*model_);
    input_.policy = &*policy_;
    input_.prompts = kApart;
    input_.random = RandomStream(5, "rollout");
    input_.first_response = 3;
  }

  Trajectories empty_trajectories(const DiffusionSettings& settings) const {
    Trajectories made;
    made.prompts = input_.prompts;
    made.tokens_BL = at::zeros({kResponses, settings.length}, at::kLong);
    made.step_BL = at::zeros({kResponses, settings.length}, at::kInt);
    made.commit_logprob_BL = at::zeros({kResponses, settings.length}, at::kFloat);
    made.forwards_B = at::zeros({kResponses}, at::kLong);
    return made;
  }

  const Prompts kApart = test::prompts_of_groups({0, 1, 2, 3, 4, 5}, kPrompt);
  const Prompts kGrouped = test::prompts_of_groups({0, 0, 1, 1, 1, 2}, kPrompt);
  const at::NoGradGuard no_gradient_;
  std::unique_ptr<Model> model_;
  std::optional<ModelPolicy> policy_;
  RolloutInput input_;
};

TEST_P(TensorDecoding, WritesTheSameTrajectories) {
  std::int64_t stopped = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    input_.prompts = seed % 2 == 0 ? kApart : kGrouped;
    const DiffusionSettings settings = random_settings(RandomStream(seed, "settings"));
    const Schedule schedule(settings);
    Trajectories by_rows = empty_trajectories(settings), by_tensors = empty_trajectories(settings);
    DiffusionDecoder(settings, schedule, input_, 0, kResponses).run(by_rows);
    TensorDecoder(settings, schedule, input_, 0, 2).run(by_tensors);
    TensorDecoder(settings, schedule, input_, 2, kResponses).run(by_tensors);
    EXPECT_TRUE(test::same_responses(by_rows, by_tensors)) << seed;
    EXPECT_LT((by_rows.commit_logprob_BL - by_tensors.commit_logprob_BL).abs().max().item<float>(), 1e-5) << seed;
    stopped += (by_rows.step_BL < 0).any(1).sum().item<std::int64_t>();
  }
  EXPECT_GT(stopped, 0) << "no response stopped early";
}

// As the other loop does: what was committed stays, the rest is masked.
TEST_P(TensorDecoding, ACancelledRolloutIsWrittenAsFarAsItCame) {
  DiffusionSettings settings;
  settings.length = settings.steps = 5;
  settings.eps = 1e-3;
  const std::atomic<bool> cancelled = true;
  input_.cancelled = &cancelled;
  Trajectories made = empty_trajectories(settings);
  TensorDecoder(settings, Schedule(settings), input_, 0, kResponses).run(made);
  EXPECT_TRUE((made.step_BL == -1).all().item<bool>());
  EXPECT_TRUE((made.tokens_BL == policy_->traits().mask_id).all().item<bool>());
}

TEST_P(TensorDecoding, LogitsThatAreNotNumbersAreRefused) {
  for (const auto& parameter : model_->parameters()) parameter.tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  DiffusionSettings settings;
  settings.length = settings.steps = 3;
  settings.eps = 1e-3;
  const Schedule schedule(settings);
  Trajectories made = empty_trajectories(settings);
  TensorDecoder decoder(settings, schedule, input_, 0, kResponses);
  EXPECT_THROW(decoder.run(made), Error);
}

INSTANTIATE_TEST_SUITE_P(Families, TensorDecoding, testing::Values("llada", "dream"));

}  // namespace
}  // namespace drift::diffusion::diffusion_tensor_decoder_test
