// Updates of a model with block attention: one row of two copies gives what each block's state gives alone.

#include <core/update/block_rows.h>
#include <core/update/policy_gradient.h>
#include <core/update/policy_update.h>
#include <core/update/rollout_correction.h>
#include <core/update/rollout_gap.h>
#include <core/update/value_model.h>
#include <core/update/view_rows.h>
#include <drift/cached_forward.h>
#include <drift/error.h>
#include <drift/plan_builder.h>

#include "tests/support/alone.h"
#include "tests/support/block_responses.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/updates.h"

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::policy_blocks_test {

using Settings = std::map<std::string, Parameter::Value>;

constexpr std::int64_t kBlock = test::kBlock, kPrompt = test::kBlockPrompt, kLength = test::kBlockLength,
                       kResponses = test::kBlockResponses;
constexpr std::int64_t kEnd = 143;  // pads, too
constexpr std::int64_t kPlenty = std::int64_t{1} << 30;

/// SDAR's tiny checkpoint, with a head of either kind.
class BlockModel final : public Model, public CachedForward, public BlockAttention {
 public:
  explicit BlockModel(PredictionRow row)
      : model_(test::open_checkpoint("sdar", test::source_dir() / "tests/golden/block/ckpt/sdar_a", at::kDouble)),
        traits_(model_->traits()) {
    traits_.prediction_row = row;
  }
  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return model_->device(); }
  at::ScalarType dtype() const override { return model_->dtype(); }
  at::Tensor forward(const ForwardInput& input) const override { return model_->forward(input); }
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return cached().make_cache(rows, positions);
  }
  at::Tensor forward_window(const ForwardInput& input, const CacheWindow& window, KeyValueCache& cache) const override {
    return cached().forward_window(input, window, cache);
  }
  at::Tensor lm_head_VH() const override { return model_->lm_head_VH(); }
  std::vector<NamedTensor> parameters() const override { return model_->parameters(); }
  void initialize(const RandomStream& random) override { model_->initialize(random); }
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override {
    return model_->training_bytes_per_row(sequence);
  }

 private:
  const CachedForward& cached() const { return *capability<CachedForward>(static_cast<const Model&>(*model_)); }

  std::unique_ptr<Model> model_;
  ModelTraits traits_;
};

/// Log-probabilities of the plan's targets, each block's state by a forward of its own: prompt and clean blocks before
/// it, then the state. With its graph, if gradients are enabled.
at::Tensor alone_FL(const Model& model, const Trajectories& trajectories, const MaskPlan& plan) {
  std::vector<at::Tensor> rows;
  const std::int64_t before = model.traits().prediction_row == PredictionRow::kPrevious ? 1 : 0;
  for (std::int64_t f = 0; f < plan.response_F.size(0); ++f) {
    const auto b = plan.response_F[f].item<std::int64_t>();
    const BlockText text(kBlock, trajectories, plan.block_origin, b);
    std::vector<at::Tensor> logprobs;
    for (std::int64_t i = 0; i < kLength; ++i) {
      if (!plan.target_FL[f][i].item<bool>()) {
        logprobs.push_back(at::zeros({}, at::kDouble));
        continue;
      }
      const std::int64_t position = text.prompt + i, block = text.block(position);
      const std::int64_t begin = text.begin(block), end = text.end(block);
      auto prompt = trajectories.prompts.tokens_BP[b].clone();
      if (plan.prompt_masked_FP.defined()) prompt.masked_fill_(plan.prompt_masked_FP[f], model.traits().mask_id);
      auto state = trajectories.tokens_BL[b].masked_fill(plan.masked_FL[f], model.traits().mask_id);
      const auto clean = trajectories.tokens_BL[b];
      const auto of_text = [&](const at::Tensor& response) {
        return at::cat({prompt.slice(0, text.padding), response});
      };
      ForwardInput input;
      input.tokens_BS = at::cat({of_text(clean).slice(0, 0, begin), of_text(state).slice(0, begin, end)}).unsqueeze(0);
      input.block_BS = at::zeros({1, end}, at::kLong);
      for (std::int64_t t = 0; t < end; ++t) input.block_BS[0][t] = text.block(t);
      if (plan.attended_FL.defined())
        input.key_mask_BS =
            at::cat({at::ones({text.prompt}, at::kBool), plan.attended_FL[f]}).slice(0, 0, end).unsqueeze(0);
      input.rows_N = at::tensor({position - before}, at::kLong);
      const auto logits_1V = at::matmul(model.forward(input), model.lm_head_VH().t());
      logprobs.push_back(at::log_softmax(logits_1V, 1)[0][clean[i].item<std::int64_t>()]);
    }
    rows.push_back(at::stack(logprobs));
  }
  return at::stack(rows);
}

/// The sum of A lp, view by view.
class Sum final : public LossEstimator {
 public:
  Coupling coupling() const override { return Coupling::kResponse; }
  void needs(LossNeeds& needs) const override { needs.old = false; }
  Loss evaluate(const LossInput& input) const override {
    Loss loss;
    loss.value = (input.log_probs.current_FL * input.plan.target_FL * input.advantage_F1()).sum();
    return loss;
  }
};

struct Case {
  std::string masking, plugin;
  Settings settings;
};
const std::vector<Case> kCases = {{"rldf", "rldf", {{"k", std::int64_t{5}}}},
                                  {"tracerl", "tracerl", {{"shrink", std::int64_t{1}}}},
                                  {"tracerl", "tracerl", {{"blocks_from", std::string("text")}}},
                                  {"tracerl_coupled", "tracerl", {{"mask_times", std::int64_t{2}}}},
                                  {"d1", "d1", {{"p_mask_prompt", 0.4}}},
                                  {"d1", "d1", {{"mask_post_eos_keys", true}, {"end_id", kEnd}}}};

struct Blocks : ::testing::TestWithParam<PredictionRow> {
  MaskPlan plan(const Case& one) const {
    return draw_plan(*test::create<MaskingStrategy>(one.plugin, one.masking, one.settings), trajectories,
                     model.traits(), {RandomStream(3, "masking")});
  }
  UpdateBatch batch(const MaskPlan& plan) const {
    return update_batch(trajectories, at::tensor({1.0, -1.0, 0.5, -0.5}, at::kDouble), plan, 2);
  }

  const BlockModel model{GetParam()};
  const Trajectories trajectories = test::block_trajectories();
};

INSTANTIATE_TEST_SUITE_P(Heads, Blocks, ::testing::Values(PredictionRow::kSame, PredictionRow::kPrevious));

TEST_P(Blocks, ScoresOfARowAreThoseOfEachStateAlone) {
  const at::NoGradGuard no_gradient;
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.masking);
    const MaskPlan drawn = plan(one);
    const auto expected_FL = alone_FL(model, trajectories, drawn);
    const auto views = all_views(drawn);
    for (const std::int64_t most_tokens : {0, 40, 8192}) {
      const ViewRows rows(test::alone, model.traits(), trajectories, drawn, views, most_tokens);
      const auto scores = score_rows(test::alone, model, rows, false);
      EXPECT_LT((scores.logprob_FL - expected_FL).abs().max().item<double>(), 1e-9) << most_tokens;
    }
  }
}

TEST_P(Blocks, TheGradientIsThatOfEachStateAlone) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.masking);
    const MaskPlan drawn = plan(one);
    const auto loss = one.plugin == "rldf" ? test::create<LossEstimator>("rldf", "rldf", {{"beta", 0.0}})
                                           : std::unique_ptr<LossEstimator>(std::make_unique<Sum>());
    const at::AutoGradMode with_gradient(true);
    std::vector<at::Tensor> parameters;
    for (const auto& [name, tensor] : model.parameters()) parameters.push_back(tensor);
    const auto expected_FL = alone_FL(model, trajectories, drawn);
    for (const std::int64_t budget : {kPlenty, std::int64_t{100000}, std::int64_t{1}}) {
      const auto computed = policy_gradient(test::alone, model, *loss, batch(drawn), budget);
      const auto expected = torch::autograd::grad({(expected_FL * computed.gradient_FL).sum()}, parameters, {}, true);
      ASSERT_EQ(computed.gradients.size(), expected.size());
      for (std::size_t p = 0; p < expected.size(); ++p)
        EXPECT_LT((computed.gradients[p] - expected[p]).abs().max().item<double>(), 1e-9) << budget << ", " << p;
    }
  }
}

// What is drawn again, or seen by several views, is in the row once.
TEST_P(Blocks, ViewsOfAResponseShareItsTextAndTheirStates) {
  const MaskPlan drawn = plan({"rldf", "rldf", {{"k", std::int64_t{16}}}});
  const auto tokens = [&](std::int64_t most_tokens) {
    std::int64_t sum = 0;
    for (const BlockRow& row : block_rows(model.traits(), trajectories, drawn, all_views(drawn), most_tokens))
      sum += std::ssize(row.tokens);
    return sum;
  };
  EXPECT_EQ(block_rows(model.traits(), trajectories, drawn, all_views(drawn), 8192).size(), 4u);
  EXPECT_LT(tokens(8192), 4 * (kPrompt + 4 * (kLength + kBlock)));
  EXPECT_LT(3 * tokens(8192), tokens(0));
}

TEST_P(Blocks, WhatARowDoesNotNeedIsLeftOut) {
  PlanBuilder builder(kLength, kPrompt);
  builder.begin_view(2, 0);  // its prompt has 5 tokens: position 4 of the response is the second of the third block
  for (std::int64_t i = 0; i < kLength; ++i) builder.mask(i);
  builder.score(4);
  const MaskPlan one = builder.finish(1);
  const auto rows = block_rows(model.traits(), trajectories, one, {0}, 0);
  ASSERT_EQ(rows.size(), 1u);
  const std::vector<std::int32_t> copies = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(rows[0].copy, copies);
  EXPECT_EQ(rows[0].positions, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(row_tokens(model.traits(), trajectories, one), 12);
}

TEST_P(Blocks, AViewWithoutATargetHasNoRow) {
  PlanBuilder builder(kLength, kPrompt);
  builder.begin_view(2, 0);
  EXPECT_TRUE(block_rows(model.traits(), trajectories, builder.finish(1), {0}, 0).empty());
}

TEST_P(Blocks, DropoutIsAFunctionOfTheView) {
  for (const Case& one : kCases) {
    const MaskPlan drawn = plan(one);
    const RowAdapters adapters{.dropout = RandomStream(7, "dropout")};
    const auto keys = [&](const Views& views) {
      const ViewRows rows(test::alone, model.traits(), trajectories, drawn, views);
      std::map<std::int64_t, std::int64_t> key;  // of each view
      const auto batch = rows.batch(0, rows.own_count(), at::kCPU, adapters);
      for (std::int64_t r = 0; r < rows.own_count(); ++r) {
        for (const RowTarget& target : rows.targets()[static_cast<std::size_t>(r)])
          key[views[static_cast<std::size_t>(target.flat / kLength)]] =
              batch.forward.dropout_key_B[r].item<std::int64_t>();
      }
      return key;
    };
    const auto all = keys(all_views(drawn));
    EXPECT_EQ(std::ssize(all), drawn.response_F.size(0));
    for (const auto& [view, key] : all) EXPECT_EQ(keys({view}).at(view), key) << one.masking << ", " << view;
  }
}

TEST_P(Blocks, AValueModelLearnsTheReturnsOfAllBlocks) {
  const MaskPlan drawn = plan(kCases[1]);
  ValueSettings settings;
  settings.memory_budget = kPlenty;
  settings.clip = 10;
  settings.optimizer = test::constant_adamw(0.003);
  ValueModel value(test::alone, settings, Loaded<Model>(std::make_unique<BlockModel>(GetParam()), "blocks"));
  const auto reward_B = at::tensor({1.0, -1.0, 0.5, -0.5});
  const auto before =
      generalised_advantages(drawn, value.estimate(trajectories, drawn), reward_B, {.gamma = 0.99, .lambda = 1});
  const auto first = before.return_BL[0][0].item<double>(), last = before.return_BL[0][kLength - 1].item<double>();
  EXPECT_LT(first, last) << "what is written in later blocks comes later";
  const double loss = value.train(trajectories, drawn, before);
  for (int i = 0; i < 60; ++i) value.train(trajectories, drawn, before);
  EXPECT_LT(value.train(trajectories, drawn, before), loss / 5);
}

TEST_P(Blocks, ARolloutThatSeesWholeBlocksHasNoGap) {
  const at::NoGradGuard no_gradient;
  auto written = trajectories;
  written.commit_logprob_BL.zero_();
  for (std::int64_t b = 0; b < kResponses; ++b) {
    std::set<std::int32_t> steps;
    for (std::int64_t i = 0; i < kLength; ++i) steps.insert(written.step_BL[b][i].item<std::int32_t>());
    PlanBuilder builder(kLength, kPrompt);
    for (const std::int32_t step : steps) {
      builder.begin_view(b, 0);
      for (std::int64_t i = 0; i < kLength; ++i) {
        if (written.step_BL[b][i].item<std::int32_t>() >= step) builder.mask(i);
        if (written.step_BL[b][i].item<std::int32_t>() == step) builder.score(i);
      }
    }
    written.commit_logprob_BL[b] += alone_FL(model, written, builder.finish(1)).sum(0).to(at::kFloat);
  }
  for (std::int64_t step = 0; step < 4; ++step) {
    const auto gap = rollout_gap(test::alone, model, written, kResponses, RandomStream(1, "gap"), step);
    EXPECT_LT(gap.largest, 1e-5);
  }
  // And a strategy that shows a state of every block is corrected by 1 where these are states of the rollout.
  for (const Case& one : {kCases[0], kCases[2]}) {
    const auto correction = rollout_correction(test::alone, model, written, plan(one), 10);
    EXPECT_GT(correction.tokens, kLength) << one.masking;
    EXPECT_NEAR(correction.weight_sum, static_cast<double>(correction.tokens), 1e-3);
  }
  EXPECT_FALSE(scored_when_committed(model.traits(), written, plan(kCases[1])).any().item<bool>())
      << "no prompt ends with a block, so that blocks of the response were never seen";
}

TEST_P(Blocks, WhatTheDecoderRecordsIsWhatTrainingScores) {
  const at::NoGradGuard no_gradient;
  for (const std::string schedule : {"static", "dynamic"}) {
    const auto written = test::roll_out("block", {{"length", kLength}, {"schedule", schedule}, {"temperature", 1.0}},
                                        model, trajectories.prompts, 0);
    for (std::int64_t step = 0; step < 4; ++step) {
      const auto gap = rollout_gap(test::alone, model, written, kResponses, RandomStream(1, "gap"), step);
      EXPECT_LT(gap.largest, 1e-4) << schedule;
    }
  }
}

}  // namespace drift::policy_blocks_test
