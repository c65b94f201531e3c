// What the ranks divide among them: the optimizer's state, the gradients and the weights.

#include "tests/ranks/algorithm_case.h"
#include "tests/support/tensors.h"

#include <core/base/adapters.h>
#include <core/base/trainable.h>
#include <core/boundary/adapters.h>
#include <core/boundary/divided_weights.h>
#include <core/update/gradient_sum.h>
#include <core/update/optimizer.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"
#include "tests/support/tiny_model.h"
#include "tests/support/updates.h"

#include <ATen/OpMathType.h>

#include <tuple>

namespace drift {
namespace {

OptimizerSettings adamw(Shard shard, double clip) {
  OptimizerSettings settings = test::constant_adamw(0.01, 0.99);
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
  const char* family = "llada";
};

void PrintTo(const Division& division, std::ostream* out) {
  *out << division.family << ", " << at::toString(division.type) << (division.has_adapters ? ", adapters" : "");
}

/// What is trained, gathered where the ranks divide it.
std::vector<at::Tensor> trained_weights(const Model& model) {
  std::vector<at::Tensor> trained;
  for (const HeldWeight& weight : held_weights(model)) {
    if (!weight.parameter.requires_grad()) continue;
    trained.push_back(weight.values.detach());
    if (!weight.is_share) continue;
    trained.back() = at::empty(weight.parameter.sizes(), weight.values.options());
    all_ranks().begin_gather({weight.values}, {trained.back()});
    all_ranks().finish_gather();
  }
  return trained;
}

class DividedTest : public testing::TestWithParam<Division> {
 protected:
  std::unique_ptr<Model> open() const {
    const std::string family = GetParam().family;
    const auto folder = test::source_dir() / "tests/golden/data/ckpt" / (family + "_a");
    if (!GetParam().has_adapters) return test::open_checkpoint(family, folder, GetParam().type);
    AdapterDescription adapter;
    adapter.rank = 3;
    auto model = test::open_with_adapters(family, folder, adapter);
    initialize_adapters(adapter_parameters(*model), RandomStream(3, "adapter"));
    return model;
  }

  /// Two inner iterations, with a KL to a reference policy.
  Trained train(Ranks& ranks, Shard shard, std::int64_t rows_at_a_time, double clip = 0) const {
    const auto model = open();
    const auto trajectories = test::make_trajectories(kGroups, kGroupSize, kPrompt, 12, 200, 4);
    AlgorithmCase one = case_of("espo", *model, trajectories);
    EXPECT_TRUE(one.needs.reference);
    const std::int64_t budget = 1 + rows_at_a_time * model->training_bytes_per_row(kPrompt + 12);
    if (shard == Shard::kParameters && ranks.size() > 1) divide_weights(ranks, *model);
    Optimizer optimizer(ranks, trainable_parameters(*model), adamw(shard, clip), weight_shares(*model));
    Trained trained;
    for (int iteration = 0; iteration < 2; ++iteration) {
      auto gradient = policy_gradient(ranks, *model, *one.loss, one.batch, budget, shard);
      trained.losses.push_back(gradient.loss);
      trained.norms.push_back(optimizer.step(std::move(gradient.gradients)));
    }
    trained.weights = trained_weights(*model);
    trained.state = optimizer.state();
    trained.parts = optimizer.state_parts();
    return trained;
  }

  /// The same without a clip, once for all tests.
  const Trained& trained(Shard shard, std::int64_t rows_at_a_time) const {
    static std::map<std::tuple<std::string, Shard, std::int64_t>, Trained> all;
    const auto key = std::tuple(testing::PrintToString(GetParam()), shard, rows_at_a_time);
    if (!all.contains(key)) all[key] = train(all_ranks(), shard, rows_at_a_time);
    return all.at(key);
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
    const auto expected = train(test::alone, Shard::kNone, rows);
    const Trained& whole = trained(Shard::kNone, rows);
    for (const Shard shard : {Shard::kOptimizer, Shard::kGradients, Shard::kParameters}) {
      SCOPED_TRACE(std::string(name_of(shard)) + ", " + std::to_string(rows) + " rows at a time");
      const Trained& divided = trained(shard, rows);
      expect_near(divided, expected, tolerance_of(GetParam().type));
      expect_near(divided, whole, tolerance_of(GetParam().type));
      if (shard == Shard::kGradients) continue;  // which adds up passes in another order, as division of weights does
      const Trained& same = shard == Shard::kOptimizer ? whole : trained(Shard::kGradients, rows);
      for (std::size_t p = 0; p < whole.weights.size(); ++p)
        EXPECT_TRUE(at::equal(divided.weights[p], same.weights[p])) << "not the same bits: parameter " << p;
      EXPECT_EQ(divided.losses, same.losses);
    }
  }
}

TEST_P(DividedTest, TheNormThatClipsIsThatOfTheWholeGradient) {
  const auto whole = train(all_ranks(), Shard::kNone, 1000, /*clip=*/1e-3),
             divided = train(all_ranks(), Shard::kGradients, 1000, /*clip=*/1e-3);
  expect_near(divided, whole, tolerance_of(GetParam().type));
}

void expect_parts_of(const Trained& whole, const Trained& divided) {
  if (all_ranks().size() == 1) {
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
    EXPECT_LE(part.values.numel(), tensor.numel() / all_ranks().size() + 1) << "more than its share";
    EXPECT_TRUE(at::equal(part.values, whole.state[t].tensor.view({-1}).narrow(0, part.first, part.values.numel())))
        << name;
  }
}

// A checkpoint has what one process would write, in pieces.
TEST_P(DividedTest, ThePartsOfTheStateMakeThatOfOneProcess) {
  const Trained& whole = trained(Shard::kNone, 1000);
  for (const Shard shard : {Shard::kOptimizer, Shard::kParameters}) expect_parts_of(whole, trained(shard, 1000));
}

TEST_P(DividedTest, AStateOfOneProcessGoesOnDividedAndBack) {
  const auto model = open();
  const auto parameters = trainable_parameters(*model);
  Optimizer one(test::alone, parameters, adamw(Shard::kNone, 0));
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : parameters)
    gradients.push_back(
        numbers_of(0, parameter.tensor.numel(), at::toOpMathType(GetParam().type)).view(parameter.tensor.sizes()));
  one.step(gradients);
  const auto state = one.state();
  Optimizer divided(all_ranks(), parameters, adamw(Shard::kOptimizer, 0));
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
  Optimizer optimizer(all_ranks(), parameters, adamw(Shard::kOptimizer, 1));
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : parameters)
    gradients.push_back(at::zeros_like(parameter.tensor, at::toOpMathType(GetParam().type)).detach());
  if (all_ranks().is_first()) gradients.front().fill_(std::numeric_limits<double>::quiet_NaN());
  gradients = all_ranks().reduce_scatter(gradients);
  const auto before = parameters.front().tensor.detach().clone();
  EXPECT_THAT(test::what_of([&] { optimizer.step(gradients); }), testing::HasSubstr("the gradient's norm is nan"));
  EXPECT_TRUE(at::equal(parameters.front().tensor, before));
}

/// Parameters that a backward reaches one after another, from the last one to the first.
struct Chain {
  Chain() {
    for (std::int64_t p = 0; p < 5; ++p) parameters.push_back((numbers_of(p, 7, at::kFloat) + 1.5).requires_grad_());
  }
  /// This rank's backward with this number.
  void backward(GradientSum& sum, std::int64_t number) const {
    auto x_E = numbers_of(all_ranks().rank() + 10 * number, 7, at::kFloat);
    for (const at::Tensor& parameter : parameters) x_E = (x_E * parameter).sin();
    sum.backward(0, {x_E.sum()}, {at::ones({}, at::kFloat)});
  }
  /// What the ranks' first backwards, as many as its own number says, give together.
  std::vector<at::Tensor> sums(std::int64_t own) const {
    GradientSum sum(all_ranks(), parameters, 1);
    for (std::int64_t i = 0; i < own; ++i) backward(sum, i);
    auto total = sum.take_total();
    all_ranks().all_reduce(total);
    return total;
  }
  std::vector<at::Tensor> parameters;
};

// A rank has as many backwards as its number says, and one more.
TEST(GradientSumOnRanks, OfTheLastRoundHasTheBitsOfASumWhenAllIsDone) {
  for (const std::vector<std::size_t>& late : {std::vector<std::size_t>{}, {2}}) {
    const Chain chain;
    const std::int64_t own = all_ranks().rank() + 1;
    const auto expected = chain.sums(own);
    GradientSum sum(all_ranks(), chain.parameters,
                    {.receivers = SumFor::kAll, .every_round = false, .late = late, .block = {}, .bucket_elements = 1});
    const std::int64_t sent = all_ranks().sent();
    for (std::int64_t i = 0; i < own; ++i) {
      EXPECT_EQ(all_ranks().sent(), sent) << "an earlier round is exchanged";
      if (i + 1 == own) sum.last_round();
      chain.backward(sum, i);
    }
    if (all_ranks().size() > 1) {
      EXPECT_GT(all_ranks().sent(), sent) << "nothing was exchanged while the backward went on";
    }
    const auto sums = sum.take_sums();
    for (std::size_t p = 0; p < sums.size(); ++p) EXPECT_TRUE(at::equal(sums[p], expected[p])) << "parameter " << p;
  }
}

TEST(GradientSumOnRanks, OfEveryRoundHasTheSharesOfAllBackwards) {
  const Chain chain;
  const std::int64_t own = all_ranks().rank() + 1, rounds = all_ranks().size();
  const auto expected = chain.sums(own);
  GradientSum sum(all_ranks(), chain.parameters,
                  {.receivers = SumFor::kShares, .every_round = true, .late = {3}, .block = {}, .bucket_elements = 8});
  for (std::int64_t i = 0; i < rounds; ++i) {
    if (i < own) chain.backward(sum, i);
    sum.end_round();
  }
  const auto shares = sum.take_sums();
  for (std::size_t p = 0; p < shares.size(); ++p) {
    const auto [begin, end] = all_ranks().share(7);
    EXPECT_TRUE(at::allclose(shares[p], expected[p].narrow(0, begin, end - begin), 1e-5, 1e-6)) << "parameter " << p;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DividedTest,
                         testing::Values(Division{at::kFloat, false}, Division{at::kDouble, false},
                                         Division{at::kBFloat16, false}, Division{at::kFloat, true},
                                         Division{at::kFloat, false, "dream"}, Division{at::kFloat, true, "dream"}));

}  // namespace
}  // namespace drift
