// What the ranks compute together is what one computes alone: responses, scores, losses, gradients.

#include "tests/ranks/algorithm_case.h"
#include "tests/support/tensors.h"

#include <core/base/trainable.h>
#include <core/boundary/divided_weights.h>
#include <core/boundary/model_policy.h>
#include <core/boundary/plugin_call.h>
#include <core/rollout/together.h>
#include <core/update/value_model.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"
#include "tests/support/tiny_model.h"
#include "tests/support/updates.h"

#include <torch/csrc/autograd/autograd.h>

namespace drift {
namespace {

struct Backbone {
  const char* family;
  at::ScalarType type;
};

void PrintTo(const Backbone& backbone, std::ostream* out) {
  *out << backbone.family << (backbone.type == at::kDouble ? " in float64" : " in float32");
}

class TogetherTest : public testing::TestWithParam<Backbone> {
 protected:
  TogetherTest() : model_(open()) {
    const auto group_B = at::arange(kResponses, at::kLong).floor_divide(kGroupSize);
    prompts_ = {(group_B.unsqueeze(1) * 31 + at::arange(kPrompt, at::kLong) * 17 + 5).remainder(200),
                at::ones({kResponses, kPrompt}, at::kBool), group_B};
  }

  static std::unique_ptr<Model> open() {
    return test::open_checkpoint(
        GetParam().family, test::source_dir() / "tests/golden/data/ckpt" / (GetParam().family + std::string("_a")),
        GetParam().type);
  }
  /// With weights that the ranks divide, if there are several.
  static std::unique_ptr<Model> open_divided() {
    auto model = open();
    if (all_ranks().size() > 1) divide_weights(all_ranks(), *model);
    return model;
  }

  Trajectories roll_out(Ranks& ranks, const Model& model, const std::string& rollout,
                        const std::map<std::string, Parameter::Value>& settings) const {
    const at::NoGradGuard no_gradient;
    const ModelPolicy policy(model);
    RolloutInput input;
    input.policy = &policy;
    input.prompts = prompts_;
    input.random = RandomStream(9, "rollout");
    input.step = 2;
    input.first_response = 40;
    Trajectories made;
    generate_together(ranks, *test::create<Rollout>(rollout, rollout, settings), model, input, made);
    return made;
  }

  /// Responses that one process has written.
  Trajectories written() const {
    return roll_out(test::alone, *model_, "block", {{"length", std::int64_t{12}}, {"block", std::int64_t{4}}});
  }
  std::unique_ptr<Model> model_;
  Prompts prompts_;
};

const std::map<std::string, Parameter::Value> kUneven{
    {"length", std::int64_t{12}}, {"block", std::int64_t{4}},       {"threshold", 0.05},
    {"temperature", 1.0},         {"cache", std::string("prefix")}, {"early_stop", true}};

TEST_P(TogetherTest, TheyWriteTheResponsesThatOneWrites) {
  const std::map<std::string, Parameter::Value> diffusion{{"length", std::int64_t{9}}, {"steps", std::int64_t{5}}};
  for (const auto& [name, settings] : {std::pair("block", kUneven), std::pair("diffusion", diffusion)}) {
    SCOPED_TRACE(name);
    const auto expected = roll_out(test::alone, *model_, name, settings);
    const auto made = roll_out(all_ranks(), *model_, name, settings);
    EXPECT_TRUE(at::equal(made.tokens_BL, expected.tokens_BL));
    EXPECT_TRUE(at::equal(made.valid_BL, expected.valid_BL));
    EXPECT_TRUE(at::equal(made.step_BL, expected.step_BL));
    EXPECT_TRUE(at::equal(made.forwards_B, expected.forwards_B));
    EXPECT_LT((made.commit_logprob_BL - expected.commit_logprob_BL).abs().max().item<double>(), 1e-5);
    EXPECT_TRUE(at::equal(made.prompts.tokens_BP, prompts_.tokens_BP));
  }
}

// Responses that need different numbers of forwards: ranks that have finished gather the others' blocks with them.
TEST_P(TogetherTest, ResponsesAndScoresOfDividedWeightsAreThoseOfWholeOnes) {
  const auto divided = open_divided();
  const auto expected = roll_out(test::alone, *model_, "block", kUneven);
  EXPECT_GT(expected.forwards_B.max().item<std::int64_t>(), expected.forwards_B.min().item<std::int64_t>());
  const auto made = roll_out(all_ranks(), *divided, "block", kUneven);
  EXPECT_TRUE(at::equal(made.tokens_BL, expected.tokens_BL));
  EXPECT_TRUE(at::equal(made.forwards_B, expected.forwards_B));
  const AlgorithmCase one = case_of("d1", *model_, expected);
  const auto score = [&](const Model& model) {
    return score_views(all_ranks(), model, one.trajectories, one.plan, all_views(one.plan), true).logprob_FL;
  };
  EXPECT_TRUE(at::equal(score(*divided), score(*model_)));
}

TEST_P(TogetherTest, DividedWeightsAreInMemoryOnlyWhileTheyAreUsed) {
  const auto divided = open_divided();
  for (const HeldWeight& weight : held_weights(*divided)) {
    if (!weight.is_share) continue;
    EXPECT_LE(weight.values.numel(), weight.parameter.numel() / all_ranks().size() + 1) << weight.name;
    EXPECT_ANY_THROW(weight.parameter.storage().data()) << weight.name;
  }
  EXPECT_EQ(weight_shares(*divided).empty(), all_ranks().size() == 1);
}

/// What the program says of body(), which fails.
template <class Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (...) {
    return describe_exception();
  }
  return Error("it did not fail");
}

TEST_P(TogetherTest, ADividedWeightThatIsReadWhereNoBlockIsComputedIsNamed) {
  if (all_ranks().size() == 1) GTEST_SKIP() << "one process";
  const auto divided = open_divided();
  const auto expect_absent = [&](const HeldWeight& weight) {
    for (const Error& error :
         {error_of([&] { weight.parameter.detach().sum(); }), error_of([&] { weight.parameter.detach().clone(); }),
          error_of([&] { weight.parameter.detach().fill_(1); })}) {
      EXPECT_THAT(error.what(), testing::HasSubstr("`" + weight.name + "` is divided among the ranks"));
      EXPECT_THAT(error.hint(), testing::HasSubstr("distributed.shard = \"gradients\""));
    }
  };
  const auto expect_all_absent = [&] {
    for (const HeldWeight& weight : held_weights(*divided)) {
      if (weight.is_share) expect_absent(weight);
    }
  };
  expect_all_absent();
  roll_out(all_ranks(), *divided, "block", {{"length", std::int64_t{12}}, {"block", std::int64_t{4}}});
  expect_all_absent();
}

// The block that is next is on its way while one is computed, and not there yet.
TEST_P(TogetherTest, ADividedWeightOfTheNextBlockIsNotReadBeforeItIsThere) {
  if (all_ranks().size() == 1) GTEST_SKIP() << "one process";
  const auto whole = open(), divided = open_divided();
  auto* blocks = capability<nn::BlockWeightsOnDemand>(*divided);
  const auto first = blocks->block_parameters(0).back(), next = blocks->block_parameters(1).back();
  divided_weights(*divided)->begin_forward();
  divided_weights(*divided)->bring(0);
  EXPECT_TRUE(at::equal(first.tensor, capability<nn::BlockWeightsOnDemand>(*whole)->block_parameters(0).back().tensor));
  EXPECT_THAT(error_of([&] { next.tensor.detach().sum(); }).what(), testing::HasSubstr("`" + next.name + "`"));
  for (std::int64_t layer = 1; layer < divided->traits().layers; ++layer) divided_weights(*divided)->bring(layer);
  EXPECT_TRUE(at::equal(next.tensor, capability<nn::BlockWeightsOnDemand>(*whole)->block_parameters(1).back().tensor));
  accompany(*divided);
}

void expect_same_update(const PolicyGradient& got, const PolicyGradient& want, bool exact) {
  EXPECT_NEAR(got.loss, want.loss, (exact ? 1e-12 : 1e-6) * (1 + std::abs(want.loss)));
  EXPECT_EQ(got.has_gradient, want.has_gradient);
  EXPECT_EQ(got.rows, want.rows) << "rows of all ranks";
  ASSERT_EQ(got.metrics.size(), want.metrics.size());
  for (const auto& [name, metric] : want.metrics) {
    EXPECT_NEAR(got.metrics.at(name).count, metric.count, 1e-6 * metric.count) << name << " counts once for all ranks";
    EXPECT_NEAR(got.metrics.at(name).sum, metric.sum, (exact ? 1e-12 : 1e-5) * (1 + std::abs(metric.sum))) << name;
  }
  ASSERT_EQ(got.gradients.size(), want.gradients.size());
  double size = 0;
  for (std::size_t p = 0; p < got.gradients.size(); ++p) {
    const double norm = want.gradients[p].norm().item<double>();
    size += norm;
    EXPECT_LE((got.gradients[p] - want.gradients[p]).norm().item<double>(), (exact ? 1e-12 : 1e-5) * norm)
        << "parameter " << p;
    expect_same_everywhere(got.gradients[p]);
  }
  EXPECT_GT(size, 0) << "there is nothing to compare";
}

TEST_P(TogetherTest, EachAlgorithmHasTheLossAndTheGradientOfOneProcess) {
  const auto responses = written();
  std::vector<const char*> algorithms = {"rldf", "d1",    "wd1",     "espo", "coupled_grpo", "tracerl",
                                         "spg",  "agrpo", "unigrpo", "d2",   "mdpo"};
  // A response's weighted sum of log-probabilities in an exponent, undivided: in float32 the forward's rounding, which
  // depends on which rows go together, is multiplied by more than the tolerance has room for.
  if (GetParam().type == at::kDouble) algorithms.insert(algorithms.end(), {"gdpo", "bgpo", "vrpo"});
  for (const char* name : algorithms) {
    SCOPED_TRACE(name);
    const AlgorithmCase one = case_of(name, *model_, responses);
    // Enough memory for all; for few rows at a time; for less than one.
    for (const std::int64_t rows : {1000, 4, 0}) {
      SCOPED_TRACE(std::to_string(rows) + " rows at a time");
      const std::int64_t budget = 1 + rows * model_->training_bytes_per_row(kPrompt + 12);
      const auto expected = policy_gradient(test::alone, *model_, *one.loss, one.batch, budget);
      const auto together = policy_gradient(all_ranks(), *model_, *one.loss, one.batch, budget);
      if (rows == 1000) {
        expect_same_update(together, expected, GetParam().type == at::kDouble);
      } else {  // passes, and so the number of rows, depend on how much memory all ranks have
        auto counted = together;
        counted.rows = expected.rows;
        expect_same_update(counted, expected, GetParam().type == at::kDouble);
      }
    }
  }
}

TEST_P(TogetherTest, ScoresAreThoseOfOneProcess) {
  const AlgorithmCase one = case_of("d1", *model_, written());
  const auto score = [&](Ranks& ranks) {
    return score_views(ranks, *model_, one.trajectories, one.plan, all_views(one.plan), true);
  };
  const auto expected = score(test::alone), together = score(all_ranks());
  EXPECT_EQ(together.rows, expected.rows);
  const double tolerance = GetParam().type == at::kDouble ? 1e-12 : 1e-5;
  EXPECT_LT((together.logprob_FL - expected.logprob_FL).abs().max().item<double>(), tolerance);
  EXPECT_LT((together.entropy_FL - expected.entropy_FL).abs().max().item<double>(), tolerance);
}

TEST_P(TogetherTest, AValueModelLearnsWhatItLearnsOnOneProcess) {
  const auto responses = written();
  const AlgorithmCase one = case_of("tracerl", *model_, responses);
  const auto learn = [&](Ranks& ranks) {
    ValueSettings settings;
    settings.optimizer = test::constant_adamw(0.05);
    settings.optimizer.epsilon = 1e-3;  // a gradient of rounding alone moves nothing
    settings.memory_budget = 1 << 30;
    ValueModel model(ranks, settings, Loaded<Model>(open(), GetParam().family));
    for (int step = 0; step < 3; ++step) {
      const auto value_FL = model.estimate(responses, one.plan);
      model.train(responses, one.plan, generalised_advantages(one.plan, value_FL, one.batch.advantage_B, {}));
    }
    return model.estimate(responses, one.plan);
  };
  const auto expected = learn(test::alone), together = learn(all_ranks());
  EXPECT_GT(expected.abs().max().item<double>(), 0.01);
  EXPECT_LT((together - expected).abs().max().item<double>(), GetParam().type == at::kDouble ? 1e-9 : 1e-3);
  expect_same_everywhere(together);
}

// One response with one masked state is one row: all other ranks gather for the one that has it.
TEST_P(TogetherTest, WithoutARowRanksGatherWithTheOthers) {
  const auto trajectories = test::make_trajectories(1, 1, kPrompt, 12, 200, 0);
  const AlgorithmCase one = case_of("d1", *model_, trajectories);
  UpdateBatch batch = one.batch;
  batch.advantage_B = at::ones({1}, at::kDouble);
  const auto expected = policy_gradient(all_ranks(), *model_, *one.loss, batch, 1 << 30, Shard::kGradients);
  EXPECT_EQ(expected.rows, 1);
  const auto divided = open_divided();
  const auto got = policy_gradient(all_ranks(), *divided, *one.loss, batch, 1 << 30, Shard::kParameters);
  EXPECT_EQ(got.loss, expected.loss);
  for (std::size_t p = 0; p < expected.gradients.size(); ++p)
    EXPECT_TRUE(at::equal(got.gradients[p], expected.gradients[p])) << "parameter " << p;
}

// A dense block, then blocks with experts.
TEST(BlocksOfDifferentShapes, DividedComputeWhatWholeOnesDo) {
  const auto open = [] {
    return test::open_checkpoint("llada2", test::source_dir() / "tests/golden/block/ckpt/llada2_moe_a", at::kFloat,
                                 at::kCPU, {{"block_size", std::int64_t{4}}, {"mask_id", std::int64_t{149}}});
  };
  const auto whole = open(), divided = open();
  if (all_ranks().size() > 1) divide_weights(all_ranks(), *divided);
  const auto tokens = (at::arange(22, at::kLong) * 37 + 11).remainder(140).view({2, 11});
  for (const bool recompute : {false, true}) {
    const auto outcome = [&](const Model& model) {
      std::vector<at::Tensor> leaves;
      for (const NamedTensor& one : trainable_parameters(model)) leaves.push_back(one.tensor);
      const auto hidden = model.forward({tokens, {}, {}, recompute});
      auto found = torch::autograd::grad({hidden}, leaves, {hidden.detach().sin()}, std::nullopt, false,
                                         /*allow_unused=*/true);
      found.push_back(hidden.detach());
      return found;
    };
    const auto expected = outcome(*whole), got = outcome(*divided);
    accompany(*divided);
    for (std::size_t p = 0; p < expected.size(); ++p) {
      ASSERT_EQ(got[p].defined(), expected[p].defined()) << p;
      if (got[p].defined()) EXPECT_TRUE(at::equal(got[p].to_dense(), expected[p].to_dense())) << p;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backbones, TogetherTest,
                         testing::Values(Backbone{"llada", at::kFloat}, Backbone{"llada", at::kDouble},
                                         Backbone{"dream", at::kFloat}, Backbone{"dream", at::kDouble}));

// One response with one masked state is one row: all other ranks have none.
TEST(Ranks, WithoutARowTakePart) {
  const test::TinyModel model(11, 5, at::kDouble);
  const auto trajectories = test::make_trajectories(1, 1, 4, 6, 11, 0);
  const AlgorithmCase one = case_of("d1", model, trajectories);
  UpdateBatch batch = one.batch;
  batch.advantage_B = at::ones({1}, at::kDouble);
  const auto expected = policy_gradient(test::alone, model, *one.loss, batch, 1 << 30);
  EXPECT_EQ(expected.rows, 1);
  expect_same_update(policy_gradient(all_ranks(), model, *one.loss, batch, 1 << 30), expected, /*exact=*/true);
  for (const Shard shard : {Shard::kOptimizer, Shard::kGradients}) {
    const auto shares = policy_gradient(all_ranks(), model, *one.loss, batch, 1 << 30, shard).gradients;
    for (std::size_t p = 0; p < shares.size(); ++p) {
      const auto [begin, end] = all_ranks().share(expected.gradients[p].numel());
      const auto want = all_ranks().size() == 1 ? expected.gradients[p].reshape({-1})
                                                : expected.gradients[p].reshape({-1}).narrow(0, begin, end - begin);
      EXPECT_TRUE(at::allclose(shares[p].reshape({-1}), want, 1e-12, 1e-14)) << name_of(shard) << ", parameter " << p;
    }
  }
}

constexpr std::int64_t kBadRank = 1;  // of four, the last has no row of so small a batch

/// The numbers of another model, and on one rank a gradient that is NaN.
class NanBackward final : public Model {
 public:
  explicit NanBackward(const Model& like) : like_(like) {}
  const ModelTraits& traits() const override { return like_.traits(); }
  at::Device device() const override { return like_.device(); }
  at::ScalarType dtype() const override { return like_.dtype(); }
  at::Tensor forward(const ForwardInput& input) const override {
    const auto hidden_NH = like_.forward(input);
    return all_ranks().rank() != kBadRank ? hidden_NH : hidden_NH + (hidden_NH * 0).sqrt();
  }
  at::Tensor lm_head_VH() const override { return like_.lm_head_VH(); }
  std::vector<NamedTensor> parameters() const override { return like_.parameters(); }
  void initialize(const RandomStream&) override {}
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override {
    return like_.training_bytes_per_row(sequence);
  }

 private:
  const Model& like_;
};

TEST(Ranks, NameTheRankWhoseGradientIsNotFinite) {
  if (all_ranks().size() == 1) GTEST_SKIP() << "one process";
  const test::TinyModel like(11, 5, at::kFloat);
  const NanBackward model(like);
  const auto trajectories = test::make_trajectories(kGroups, kGroupSize, 4, 6, 11, 0);
  const AlgorithmCase one = case_of("d1", like, trajectories);
  for (const Shard shard : {Shard::kNone, Shard::kOptimizer, Shard::kGradients}) {
    const auto error =
        test::what_of([&] { policy_gradient(all_ranks(), model, *one.loss, one.batch, 1 << 30, shard); });
    EXPECT_EQ(error, "the gradient of " + all_ranks().name(kBadRank) + " is not finite");
  }
}

TEST(Ranks, RefuseToDivideAModelThatCannotBeAskedForItsBlocks) {
  test::TinyModel model(11, 5, at::kFloat);
  EXPECT_THAT(test::error_of([&] { divide_weights(all_ranks(), model); }),
              testing::AllOf(testing::HasSubstr("model family " + model.traits().family),
                             testing::HasSubstr("distributed.shard = \"gradients\"")));
}

}  // namespace
}  // namespace drift
