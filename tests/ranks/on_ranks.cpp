// Run by every process of an MPI program: what the ranks compute together is what one computes alone.

#include <drift/policy.h>

#include <core/base/model_policy.h>
#include <core/ranks/launch.h>
#include <core/ranks/ranks.h>
#include <core/rollout/together.h>
#include <core/update/batch_totals.h>
#include <core/update/policy_gradient.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tiny_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
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
}

}  // namespace
}  // namespace drift
