// The block rollout's loop for devices, run on the CPU, writes what its other loop writes.

#include "plugins/rollouts/block/decoder.h"
#include "plugins/rollouts/block/tensor_decoder.h"

#include <core/boundary/model_policy.h>

#include <drift/error.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <gmock/gmock.h>

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
  settings.remasking = pick(Remasking::kLowConfidence, Remasking::kMargin, Remasking::kNegativeEntropy,
                            Remasking::kRandom, Remasking::kSequential, Remasking::kTakenEntropy);
  settings.above_threshold = pick(false, true);
  settings.block_steps = pick(0, 0, 2);
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
  if (settings.cache == Cache::kNone) settings.append = pick(false, true);
  if (pick(0, 1) == 1) settings.forbidden_ids = {3, 78};
  const bool may_be_unsure =
      settings.remasking == Remasking::kLowConfidence && settings.confidence_of == ConfidenceOf::kLogits;
  if (may_be_unsure && pick(0, 1) == 1) settings.unsure_ids = {5, 90};
  return settings;
}

/// Keeps what it is asked.
class SeenPolicy final : public Policy {
 public:
  struct Forward {
    ForwardInput input;
    std::optional<CacheWindow> window;
  };

  explicit SeenPolicy(const Model& model) : policy_(model) {}

  const ModelTraits& traits() const override { return policy_.traits(); }
  at::Device device() const override { return policy_.device(); }
  at::Tensor logits(const ForwardInput& input, const ForwardCache& cache) const override {
    seen.push_back({input, cache.window ? std::optional(*cache.window) : std::nullopt});
    return policy_.logits(input, cache);
  }
  SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                       const at::Tensor& uniform_M, const SamplingOptions& options) const override {
    return sample_tokens(logits(input, cache), row_M, uniform_M, options);
  }
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return policy_.make_cache(rows, positions);
  }

  mutable std::vector<Forward> seen;

 private:
  ModelPolicy policy_;
};

class TensorDecoderTest : public testing::TestWithParam<const char*> {
 protected:
  TensorDecoderTest() {
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

  Trajectories empty_trajectories(const BlockSettings& settings) const {
    Trajectories made;
    made.prompts = input_.prompts;
    made.tokens_BL = at::zeros({kResponses, settings.length}, at::kLong);
    made.step_BL = at::zeros({kResponses, settings.length}, at::kInt);
    made.commit_logprob_BL = at::zeros({kResponses, settings.length}, at::kFloat);
    made.forwards_B = at::zeros({kResponses}, at::kLong);
    return made;
  }

  /// Two static blocks of 8 in 4 forwards each.
  BlockSettings scheduled(Cache cache) const {
    BlockSettings settings;
    settings.length = 16;
    settings.block = settings.steps = 8;
    settings.schedule = Schedule::kStatic;
    settings.cache = cache;
    return settings;
  }

  const Prompts kApart = test::prompts_of_groups({0, 1, 2, 3, 4, 5}, kPrompt);
  const Prompts kGrouped = test::prompts_of_groups({0, 0, 1, 1, 1, 2}, kPrompt);
  const at::NoGradGuard no_gradient_;
  std::unique_ptr<Model> model_;
  std::optional<SeenPolicy> policy_;
  RolloutInput input_;
};

TEST_P(TensorDecoderTest, WritesTheSameTrajectories) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    input_.prompts = seed % 2 == 0 ? kApart : kGrouped;
    const BlockSettings settings = random_settings(RandomStream(seed, "settings"));
    Trajectories by_rows = empty_trajectories(settings), by_tensors = empty_trajectories(settings);
    std::vector<RowForwards> forwards(kResponses);
    BlockDecoder(settings, input_, 0, kResponses, 4).run(by_rows, forwards);
    TensorDecoder(settings, input_, 0, 2).run(by_tensors);
    TensorDecoder(settings, input_, 2, kResponses).run(by_tensors);
    EXPECT_TRUE(test::same_responses(by_rows, by_tensors)) << seed;
    EXPECT_LT((by_rows.commit_logprob_BL - by_tensors.commit_logprob_BL).abs().max().item<float>(), 1e-5) << seed;
  }
}

TEST_P(TensorDecoderTest, ComputesAPromptOnceAndScoresOpenPositionsOnly) {
  input_.prompts = kGrouped;
  for (const Cache cache : {Cache::kNone, Cache::kPrefix, Cache::kDual}) {
    const BlockSettings settings = scheduled(cache);
    Trajectories made = empty_trajectories(settings);
    policy_->seen.clear();
    TensorDecoder(settings, input_, 0, kResponses).run(made);
    std::vector<std::int64_t> rows, scored;
    for (const auto& forward : policy_->seen) {
      rows.push_back(forward.input.tokens_BS.size(0));
      scored.push_back(forward.input.rows_N.size(0) / rows.back());
    }
    EXPECT_THAT(rows, testing::ElementsAre(3, 6, 6, 6, 6, 6, 6, 6));
    EXPECT_THAT(scored, testing::ElementsAre(8, 6, 4, 2, 8, 6, 4, 2));
  }
}

// Where the rows of a window begin and how their prompts are padded, a model need not ask the device.
TEST_P(TensorDecoderTest, TellsWhatTheHostKnows) {
  input_.prompts = kGrouped;
  const BlockSettings settings = scheduled(Cache::kPrefix);
  Trajectories made = empty_trajectories(settings);
  TensorDecoder(settings, input_, 0, kResponses).run(made);
  for (const auto& forward : policy_->seen) {
    const auto& mask_BS = forward.window->key_mask_BS;
    EXPECT_TRUE(at::equal(forward.input.padding_B, mask_BS.logical_not().sum(1)));
    EXPECT_TRUE(at::equal(forward.window->begin_B, at::full({mask_BS.size(0)}, forward.window->begin_B[0].item())));
  }
}

TEST_P(TensorDecoderTest, LogitsThatAreNotNumbersAreRefused) {
  for (const auto& parameter : model_->parameters()) parameter.tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  for (const Schedule schedule : {Schedule::kStatic, Schedule::kDynamic}) {
    for (const Cache cache : {Cache::kNone, Cache::kDual}) {
      BlockSettings settings = scheduled(cache);
      settings.schedule = schedule;
      Trajectories made = empty_trajectories(settings);
      EXPECT_THROW(TensorDecoder(settings, input_, 0, kResponses).run(made), Error);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TensorDecoderTest, testing::Values("llada", "dream"));

}  // namespace
}  // namespace drift::block::block_tensor_decoder_test
