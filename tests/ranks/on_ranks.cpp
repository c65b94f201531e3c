// Run by every process of an MPI program: what the ranks compute together is what one computes alone.

#include <drift/policy.h>

#include <core/base/adapters.h>
#include <core/base/model_policy.h>
#include <core/base/trainable.h>
#include <core/ranks/launch.h>
#include <core/ranks/ranks.h>
#include <core/rollout/together.h>
#include <core/update/batch_totals.h>
#include <core/update/optimizer.h>
#include <core/update/policy_gradient.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tiny_model.h"

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace drift {
namespace {

class JoinedRanks final : public testing::Environment {
  void SetUp() override {
    join_ranks([](const Error& error) { std::fprintf(stderr, "%s\n", error.what()); });
  }
  void TearDown() override { run_ranks().leave(); }
};
[[maybe_unused]] const auto* const joined = testing::AddGlobalTestEnvironment(new JoinedRanks);

/// `compute()` by this process, as if there were no other.
template <class Compute>
auto alone(const Compute& compute) {
  Ranks one;
  const UseRanks use(one);
  return compute();
}

/// Every rank has the same bits.
void expect_same_everywhere(const at::Tensor& tensor) {
  const auto all_R = run_ranks().all_gather(tensor.detach().reshape({1, -1}));
  for (std::int64_t r = 1; r < run_ranks().size(); ++r) EXPECT_TRUE(at::equal(all_R[r], all_R[0])) << "rank " << r;
}

// ---- what they exchange
// ----------------------------------------------------------------------------------------------

/// Numbers whose sum depends on the order of its terms.
at::Tensor numbers_of(std::int64_t rank, std::int64_t count, at::ScalarType type) {
  return (at::arange(count, at::kDouble) * (rank + 1) * 0.37 + rank).sin().to(type);
}

TEST(Ranks, ASumIsThatOfTheRanksInTheirOrder) {
  Ranks& ranks = run_ranks();
  // Small and large, several to a message and several messages to one, not contiguous, and empty.
  const std::vector<std::int64_t> counts{1, 7, 5000, 0, 3000, 9000000};
  for (const auto type : {at::kFloat, at::kDouble}) {
    std::vector<at::Tensor> tensors;
    for (const std::int64_t count : counts) tensors.push_back(numbers_of(ranks.rank(), count, type));
    tensors.push_back(numbers_of(ranks.rank(), 6, type).view({2, 3}).t());
    ranks.all_reduce(tensors);
    for (const at::Tensor& sum : tensors) {
      auto expected = at::zeros({sum.numel()}, type);
      for (std::int64_t r = 0; r < ranks.size(); ++r) {
        const auto term = numbers_of(r, sum.numel(), type);
        r == 0 ? expected.copy_(term) : expected.add_(term);
      }
      if (sum.dim() == 2) expected = expected.view({2, 3}).t();
      EXPECT_TRUE(at::equal(sum, expected)) << sum.numel() << " numbers";
    }
  }
}

TEST(Ranks, HaveSharesOfTheSameSumAndMakeTheWholeOfThem) {
  Ranks& ranks = run_ranks();
  std::vector<at::Tensor> terms, whole;
  for (const auto type : {at::kFloat, at::kDouble}) {
    for (const std::int64_t count : {1, 7, 5000, 0, 3000, 5000000})
      terms.push_back(numbers_of(ranks.rank(), count, type));
    terms.push_back(numbers_of(ranks.rank(), 6, type).view({2, 3}).t());
  }
  for (const at::Tensor& one : terms) whole.push_back(one.clone());
  ranks.all_reduce(whole);
  const auto shares = ranks.reduce_scatter(terms);
  ASSERT_EQ(shares.size(), whole.size());
  std::vector<at::Tensor> gathered;
  for (std::size_t t = 0; t < whole.size(); ++t) {
    const auto [begin, end] = ranks.share(whole[t].numel());
    EXPECT_TRUE(at::equal(shares[t], whole[t].reshape({-1}).narrow(0, begin, end - begin))) << "tensor " << t;
    gathered.push_back(at::zeros({whole[t].numel()}, whole[t].scalar_type()));
    gathered.back().narrow(0, begin, end - begin).copy_(shares[t]);
  }
  ranks.gather_shares(gathered);
  for (std::size_t t = 0; t < whole.size(); ++t)
    EXPECT_TRUE(at::equal(gathered[t], whole[t].reshape({-1}))) << "tensor " << t;
}

TEST(Ranks, TensorsOfDifferentLengthsAreGatheredInOrder) {
  Ranks& ranks = run_ranks();
  const auto part = [](std::int64_t rank) { return at::full({rank % 3, 2}, rank, at::kInt); };  // of rank 0: nothing
  std::vector<at::Tensor> expected;
  for (std::int64_t r = 0; r < ranks.size(); ++r) expected.push_back(part(r));
  EXPECT_TRUE(at::equal(ranks.all_gather(part(ranks.rank())), at::cat(expected)));
}

TEST(Ranks, TextsAreGatheredInOrder) {
  Ranks& ranks = run_ranks();
  const auto text = [](std::int64_t rank) { return std::string(static_cast<std::size_t>(rank), '\0') + "x"; };
  const auto all = ranks.all_gather(text(ranks.rank()));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks.size()));
  for (std::int64_t r = 0; r < ranks.size(); ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], text(r));
  EXPECT_EQ(ranks.broadcast("of " + std::to_string(ranks.rank())), "of 0");
}

TEST(Ranks, SharesAreAllOfTheWorkOnceAndNearlyEqual) {
  for (const std::int64_t count : {0, 1, 3, 10}) {
    const auto [begin, end] = run_ranks().share(count);
    const auto shares = run_ranks().all_gather(at::full({1}, end - begin, at::kLong));
    EXPECT_EQ(shares.sum().item<std::int64_t>(), count);
    EXPECT_LE((shares.max() - shares.min()).item<std::int64_t>(), 1);
  }
}

TEST(Ranks, TakeTurnsUntilAllWorkIsDoneOnce) {
  for (const std::int64_t count : {1, 2, 50}) {
    std::vector<std::int64_t> own;
    auto all = run_ranks().take_turns(count, [&](std::int64_t i) { own.push_back(i); });
    EXPECT_EQ(run_ranks().all_gather(at::full({1}, static_cast<std::int64_t>(own.size()))).sum().item<std::int64_t>(),
              count);
    EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
    std::ranges::sort(all);
    for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
  }
}

TEST(Ranks, ThatWereStartedAlikeGoOn) { EXPECT_NO_THROW(require_same_facts({{"run.seed", "1"}, {"threads", "1"}})); }

TEST(Ranks, ThatWereNotAreNamedWithWhatDiffers) {
  Ranks& ranks = run_ranks();
  if (ranks.size() == 1) GTEST_SKIP() << "one process";
  const bool last = ranks.rank() == ranks.size() - 1;
  try {
    require_same_facts({{"run.seed", last ? "2" : "1"}, {"threads", "1"}});
    FAIL() << "they go on";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("run.seed: 1 on rank 0 ("));
    EXPECT_THAT(error.what(), testing::HasSubstr("; 2 on " + ranks.name(ranks.size() - 1)));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("threads")));
  }
}

// ---- what they compute
// -----------------------------------------------------------------------------------------------

constexpr std::int64_t kGroups = 3, kGroupSize = 3, kPrompt = 7, kResponses = kGroups * kGroupSize;

struct Backbone {
  const char* family;
  at::ScalarType type;
};

void PrintTo(const Backbone& backbone, std::ostream* out) {
  *out << backbone.family << (backbone.type == at::kDouble ? " in float64" : " in float32");
}

class TogetherTest : public testing::TestWithParam<Backbone> {
 protected:
  TogetherTest()
      : model_(test::open_checkpoint(
            GetParam().family, test::source_dir() / "tests/golden/data/ckpt" / (GetParam().family + std::string("_a")),
            GetParam().type)) {
    const auto group_B = at::arange(kResponses, at::kLong).floor_divide(kGroupSize);
    prompts_ = {(group_B.unsqueeze(1) * 31 + at::arange(kPrompt, at::kLong) * 17 + 5).remainder(200),
                at::ones({kResponses, kPrompt}, at::kBool), group_B};
  }

  Trajectories roll_out(const std::string& rollout, const std::map<std::string, ParamValue>& settings) const {
    const at::NoGradGuard no_gradient;
    const ModelPolicy policy(*model_);
    RolloutInput input;
    input.policy = &policy;
    input.prompts = prompts_;
    input.random = RandomStream(9, "rollout");
    input.step = 2;
    input.first_response = 40;
    Trajectories made;
    generate_together(*test::create<Rollout>(rollout, rollout, settings), *model_, input, made);
    return made;
  }

  std::unique_ptr<Model> model_;
  Prompts prompts_;
};

TEST_P(TogetherTest, TheyWriteTheResponsesThatOneWrites) {
  const std::map<std::string, ParamValue> block{
      {"length", std::int64_t{12}}, {"block", std::int64_t{4}},       {"threshold", 0.05},
      {"temperature", 1.0},         {"cache", std::string("prefix")}, {"early_stop", true}};
  const std::map<std::string, ParamValue> diffusion{{"length", std::int64_t{9}}, {"steps", std::int64_t{5}}};
  for (const auto& [name, settings] : {std::pair("block", block), std::pair("diffusion", diffusion)}) {
    SCOPED_TRACE(name);
    const auto expected = alone([&, &name = name, &settings = settings] { return roll_out(name, settings); });
    const auto made = roll_out(name, settings);
    EXPECT_TRUE(at::equal(made.tokens_BL, expected.tokens_BL));
    EXPECT_TRUE(at::equal(made.valid_BL, expected.valid_BL));
    EXPECT_TRUE(at::equal(made.step_BL, expected.step_BL));
    EXPECT_TRUE(at::equal(made.forwards_B, expected.forwards_B));
    EXPECT_LT((made.commit_logprob_BL - expected.commit_logprob_BL).abs().max().item<double>(), 1e-5);
    EXPECT_TRUE(at::equal(made.prompts.tokens_BP, prompts_.tokens_BP));
  }
}

/// An update by one algorithm: its masks of some responses, and other policies that are not far from the current one.
struct AlgorithmCase {
  AlgorithmCase(const Bundle& bundle, const Model& model, const Trajectories& written)
      : trajectories(written), loss(make<LossEstimator>(bundle.loss)) {
    MaskingInput input = test::masking_input(trajectories);
    input.end_id = model.traits().end_id;
    input.pad_id = model.traits().pad_id;
    plan = test::draw_plan(*make<MaskingStrategy>(bundle.masking), input);
    loss->needs(needs);
    batch.trajectories = &trajectories;
    batch.plan = &plan;
    const std::int64_t responses = trajectories.tokens_BL.size(0);
    batch.advantage_B = (at::arange(responses, at::kDouble) * 2.3).sin();
    batch.totals = batch_totals(plan, responses, kGroupSize, /*optimizer_steps=*/1);
    batch.scored_B = scored_positions(plan, responses);
    batch.old_policy = near(model, 1.03);
    if (needs.reference) batch.reference = near(model, 0.96);
  }

  template <class Interface>
  static std::unique_ptr<Interface> make(const std::string& name) {
    const ComponentEntry* entry = test::all_plugins().find(Interface::kKind, name);
    auto made = make_component(*entry, Params(entry->params));
    auto* typed = dynamic_cast<Interface*>(made.release());
    return std::unique_ptr<Interface>(typed);
  }

  PolicyScores near(const Model& model, double factor) const {
    auto scores = score_views(model, trajectories, plan, all_views(plan), needs.entropy);
    scores.logprob_FL = scores.logprob_FL * factor;
    return scores;
  }

  Trajectories trajectories;
  std::unique_ptr<LossEstimator> loss;
  LossNeeds needs;
  MaskPlan plan;
  UpdateBatch batch;
};

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
  const auto written = alone([&] {
    return roll_out("block", {{"length", std::int64_t{12}}, {"block", std::int64_t{4}}});
  });
  for (const char* algorithm : {"rldf", "d1", "wd1", "espo", "coupled_grpo", "tracerl", "spg"}) {
    SCOPED_TRACE(algorithm);
    const Bundle& bundle = *test::all_plugins().find_bundle(algorithm);
    const AlgorithmCase one = alone([&] { return AlgorithmCase(bundle, *model_, written); });
    // Enough memory for all; for few rows at a time; for less than one.
    for (const std::int64_t rows : {1000, 4, 0}) {
      SCOPED_TRACE(std::to_string(rows) + " rows at a time");
      const std::int64_t budget = 1 + rows * model_->training_bytes_per_row(kPrompt + 12);
      const auto expected = alone([&] { return policy_gradient(*model_, *one.loss, one.batch, budget); });
      const auto together = policy_gradient(*model_, *one.loss, one.batch, budget);
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
  const auto written = alone([&] {
    return roll_out("block", {{"length", std::int64_t{12}}, {"block", std::int64_t{4}}});
  });
  const Bundle& bundle = *test::all_plugins().find_bundle("d1");
  const AlgorithmCase one = alone([&] { return AlgorithmCase(bundle, *model_, written); });
  const auto score = [&] { return score_views(*model_, one.trajectories, one.plan, all_views(one.plan), true); };
  const auto expected = alone(score), together = score();
  EXPECT_EQ(together.rows, expected.rows);
  const double tolerance = GetParam().type == at::kDouble ? 1e-12 : 1e-5;
  EXPECT_LT((together.logprob_FL - expected.logprob_FL).abs().max().item<double>(), tolerance);
  EXPECT_LT((together.entropy_FL - expected.entropy_FL).abs().max().item<double>(), tolerance);
}

INSTANTIATE_TEST_SUITE_P(Backbones, TogetherTest,
                         testing::Values(Backbone{"llada", at::kFloat}, Backbone{"llada", at::kDouble},
                                         Backbone{"dream", at::kFloat}, Backbone{"dream", at::kDouble}));

// ---- what they divide
// ----------------------------------------------------------------------------------------------

OptimizerSettings adamw(Shard shard, double clip) {
  OptimizerSettings settings;
  settings.learning_rate = 0.01;
  settings.schedule = "constant";
  settings.beta1 = 0.9;
  settings.beta2 = 0.99;
  settings.epsilon = 1e-8;
  settings.weight_decay = 0.1;
  settings.gradient_clip = clip;
  settings.divided = shard != Shard::kNone;
  return settings;
}

/// The weights and the optimizer after some updates by one algorithm, always on the same responses.
struct Trained {
  std::vector<double> losses, norms;
  std::vector<at::Tensor> weights;
  std::vector<NamedTensor> state;
  std::vector<TensorPart> parts;
};

struct Division {
  at::ScalarType type;
  bool has_adapters;
};

void PrintTo(const Division& division, std::ostream* out) {
  *out << at::toString(division.type) << (division.has_adapters ? ", adapters" : "");
}

class DividedTest : public testing::TestWithParam<Division> {
 protected:
  std::unique_ptr<Model> open() const {
    const auto folder = test::source_dir() / "tests/golden/data/ckpt/llada_a";
    if (!GetParam().has_adapters) return test::open_checkpoint("llada", folder, GetParam().type);
    AdapterDescription adapter;
    adapter.rank = 3;
    auto model = test::open_with_adapters("llada", folder, adapter);
    initialize_adapters(adapter_parameters(*model), RandomStream(3, "adapter"));
    return model;
  }

  /// Two inner iterations, with a KL to a reference policy.
  Trained train(Shard shard, std::int64_t rows_at_a_time, double clip = 0) const {
    const auto model = open();
    const auto trajectories = test::make_trajectories(kGroups, kGroupSize, kPrompt, 12, 200, 4);
    AlgorithmCase one =
        alone([&] { return AlgorithmCase(*test::all_plugins().find_bundle("espo"), *model, trajectories); });
    EXPECT_TRUE(one.needs.reference);
    const std::int64_t budget = 1 + rows_at_a_time * model->training_bytes_per_row(kPrompt + 12);
    Optimizer optimizer(trainable_parameters(*model), adamw(shard, clip));
    Trained trained;
    for (int iteration = 0; iteration < 2; ++iteration) {
      auto gradient = policy_gradient(*model, *one.loss, one.batch, budget, shard);
      trained.losses.push_back(gradient.loss);
      trained.norms.push_back(optimizer.step(std::move(gradient.gradients)));
    }
    for (const NamedTensor& parameter : trainable_parameters(*model))
      trained.weights.push_back(parameter.tensor.detach());
    trained.state = optimizer.state();
    trained.parts = optimizer.state_parts();
    return trained;
  }
};

void expect_near(const Trained& got, const Trained& want, double tolerance) {
  for (std::size_t i = 0; i < want.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], want.losses[i], tolerance * (1 + std::abs(want.losses[i])));
    EXPECT_NEAR(got.norms[i], want.norms[i], tolerance * (1 + want.norms[i]));
  }
  ASSERT_EQ(got.weights.size(), want.weights.size());
  for (std::size_t p = 0; p < want.weights.size(); ++p) {
    EXPECT_LE((got.weights[p] - want.weights[p]).to(at::kDouble).norm().item<double>(),
              tolerance * (1 + want.weights[p].to(at::kDouble).norm().item<double>()))
        << "parameter " << p;
    expect_same_everywhere(got.weights[p]);
  }
}

/// Of the steps' own size: AdamW makes of a gradient that is nothing but rounding a step of any direction.
double tolerance_of(at::ScalarType type) { return type == at::kDouble ? 1e-9 : type == at::kFloat ? 1e-4 : 1e-2; }

TEST_P(DividedTest, UpdatesAreThoseOfOneProcessWhateverIsDivided) {
  // Enough memory for all; for few rows at a time, so that ranks have different numbers of parts; for less than one.
  for (const std::int64_t rows : {1000, 4, 0}) {
    const auto expected = alone([&] { return train(Shard::kNone, rows); });
    const auto whole = train(Shard::kNone, rows);
    for (const Shard shard : {Shard::kOptimizer, Shard::kGradients}) {
      SCOPED_TRACE(std::string(name_of(shard)) + ", " + std::to_string(rows) + " rows at a time");
      const auto divided = train(shard, rows);
      expect_near(divided, expected, tolerance_of(GetParam().type));
      expect_near(divided, whole, tolerance_of(GetParam().type));
      if (shard != Shard::kOptimizer) continue;
      for (std::size_t p = 0; p < whole.weights.size(); ++p)
        EXPECT_TRUE(at::equal(divided.weights[p], whole.weights[p])) << "not the same bits: parameter " << p;
    }
  }
}

TEST_P(DividedTest, TheNormThatClipsIsThatOfTheWholeGradient) {
  const auto whole = train(Shard::kNone, 1000, /*clip=*/1e-3), divided = train(Shard::kGradients, 1000, /*clip=*/1e-3);
  expect_near(divided, whole, tolerance_of(GetParam().type));
}

// A checkpoint has what one process would write, in pieces.
TEST_P(DividedTest, ThePartsOfTheStateMakeThatOfOneProcess) {
  const auto whole = train(Shard::kNone, 1000), divided = train(Shard::kOptimizer, 1000);
  if (run_ranks().size() == 1) {
    EXPECT_TRUE(divided.parts.empty());
    return;
  }
  ASSERT_EQ(divided.state.size(), whole.state.size());
  std::map<std::string, TensorPart> parts;
  for (const TensorPart& part : divided.parts) parts[part.name] = part;
  for (std::size_t t = 0; t < whole.state.size(); ++t) {
    const auto& [name, tensor] = divided.state[t];
    EXPECT_EQ(name, whole.state[t].name);
    EXPECT_EQ(tensor.sizes(), whole.state[t].tensor.sizes());
    EXPECT_EQ(tensor.scalar_type(), whole.state[t].tensor.scalar_type());
    if (!tensor.is_meta()) continue;
    const TensorPart& part = parts.at(name);
    EXPECT_LE(part.values.numel(), tensor.numel() / run_ranks().size() + 1) << "more than its share";
    EXPECT_TRUE(at::equal(part.values, whole.state[t].tensor.view({-1}).narrow(0, part.first, part.values.numel())))
        << name;
  }
}

TEST_P(DividedTest, AStateOfOneProcessGoesOnDividedAndBack) {
  const auto model = open();
  const auto parameters = trainable_parameters(*model);
  const auto state = alone([&] {
    Optimizer one(parameters, adamw(Shard::kNone, 0));
    std::vector<at::Tensor> gradients;
    for (const NamedTensor& parameter : parameters)
      gradients.push_back(
          numbers_of(0, parameter.tensor.numel(), at::toOpMathType(GetParam().type)).view(parameter.tensor.sizes()));
    one.step(gradients);
    return one.state();
  });
  Optimizer divided(parameters, adamw(Shard::kOptimizer, 0));
  divided.load_state(state);
  EXPECT_EQ(divided.steps(), 1);
  for (const TensorPart& part : divided.state_parts()) {
    const auto found = std::ranges::find(state, part.name, &NamedTensor::name);
    ASSERT_NE(found, state.end());
    EXPECT_TRUE(at::equal(part.values, found->tensor.view({-1}).narrow(0, part.first, part.values.numel())))
        << part.name;
  }
}

TEST_P(DividedTest, AGradientThatIsNotFiniteOnOneRankIsTheSameErrorOnAll) {
  const auto model = open();
  const auto parameters = trainable_parameters(*model);
  Optimizer optimizer(parameters, adamw(Shard::kOptimizer, 1));
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : parameters)
    gradients.push_back(at::zeros_like(parameter.tensor, at::toOpMathType(GetParam().type)).detach());
  if (run_ranks().is_first()) gradients.front().fill_(std::numeric_limits<double>::quiet_NaN());
  gradients = run_ranks().reduce_scatter(gradients);
  const auto before = parameters.front().tensor.detach().clone();
  try {
    optimizer.step(gradients);
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the gradient's norm is nan"));
  }
  EXPECT_TRUE(at::equal(parameters.front().tensor, before));
}

INSTANTIATE_TEST_SUITE_P(Models, DividedTest,
                         testing::Values(Division{at::kFloat, false}, Division{at::kDouble, false},
                                         Division{at::kBFloat16, false}, Division{at::kFloat, true}));

// One response with one masked state is one row: all other ranks have none.
TEST(Ranks, WithoutARowTakePart) {
  const test::TinyModel model(11, 5, at::kDouble);
  const auto trajectories = test::make_trajectories(1, 1, 4, 6, 11, 0);
  const Bundle& bundle = *test::all_plugins().find_bundle("d1");
  const AlgorithmCase one = alone([&] { return AlgorithmCase(bundle, model, trajectories); });
  UpdateBatch batch = one.batch;
  batch.advantage_B = at::ones({1}, at::kDouble);
  const auto expected = alone([&] { return policy_gradient(model, *one.loss, batch, 1 << 30); });
  EXPECT_EQ(expected.rows, 1);
  expect_same_update(policy_gradient(model, *one.loss, batch, 1 << 30), expected, /*exact=*/true);
  for (const Shard shard : {Shard::kOptimizer, Shard::kGradients}) {
    const auto shares = policy_gradient(model, *one.loss, batch, 1 << 30, shard).gradients;
    for (std::size_t p = 0; p < shares.size(); ++p) {
      const auto [begin, end] = run_ranks().share(expected.gradients[p].numel());
      const auto want = run_ranks().size() == 1 ? expected.gradients[p].reshape({-1})
                                                : expected.gradients[p].reshape({-1}).narrow(0, begin, end - begin);
      EXPECT_TRUE(at::allclose(shares[p].reshape({-1}), want, 1e-12, 1e-14)) << name_of(shard) << ", parameter " << p;
    }
  }
}

}  // namespace
}  // namespace drift
