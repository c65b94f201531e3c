#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/updates.h"

#include <core/kernels/adamw.h>
#include <core/update/optimizer.h>

#include <drift/error.h>

#include "tests/support/alone.h"

#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/std.h>
#include <torch/optim/adamw.h>

#include <numbers>

namespace drift::optimizer_test {

OptimizerSettings settings() {
  OptimizerSettings made = test::constant_adamw(0.1, 0.99);
  made.total_steps = 10;
  return made;
}

NamedTensor parameter(float value, at::ScalarType type = at::kFloat) {
  return {"weight", at::full({2}, value, type).set_requires_grad(true)};
}

TEST(Optimizer, IsAdamWWithDecoupledDecay) {
  auto given = settings();
  given.weight_decay = 0.5;
  const auto weight = parameter(1.0f);
  Optimizer optimizer(test::alone, {weight}, given);
  // By hand, two steps with gradients 1 and 3.
  double x = 1, m = 0, v = 0;
  int step = 0;
  for (const double gradient : {1.0, 3.0}) {
    optimizer.step({at::full({2}, gradient, at::kFloat)});
    ++step;
    x -= 0.1 * 0.5 * x;
    m = 0.9 * m + 0.1 * gradient;
    v = 0.99 * v + 0.01 * gradient * gradient;
    x -= 0.1 * (m / (1 - std::pow(0.9, step))) / (std::sqrt(v / (1 - std::pow(0.99, step))) + 1e-8);
    EXPECT_NEAR(weight.tensor[0].item<double>(), x, 1e-6);
  }
}

TEST(Optimizer, ReportsTheNormBeforeClippingAndClipsTheEntireGradient) {
  auto given = settings();
  given.gradient_clip = 1.0;
  const auto clipped = parameter(0.0f), scaled = parameter(0.0f);
  Optimizer with_clip(test::alone, {clipped}, given), without(test::alone, {scaled}, settings());
  EXPECT_NEAR(with_clip.step({at::tensor({3.0f, 4.0f})}), 5.0, 1e-6);
  without.step({at::tensor({0.6f, 0.8f})});
  EXPECT_TRUE(at::equal(clipped.tensor, scaled.tensor));
}

TEST(Optimizer, AGradientThatIsNotFiniteChangesNothing) {
  const auto weight = parameter(1.0f);
  Optimizer optimizer(test::alone, {weight}, settings());
  EXPECT_THROW(optimizer.step({at::full({2}, std::numeric_limits<float>::infinity(), at::kFloat)}), Error);
  EXPECT_EQ(weight.tensor[0].item<float>(), 1.0f);
}

// What TraceRL's original does by starting a process for every rollout.
TEST(Optimizer, ARestartForgetsTheMomentsAndRoundsTheMasters) {
  const auto gradient = at::full({2}, 1.0, at::kFloat);
  auto given = settings();
  given.learning_rate = 1e-4;  // less than bfloat16 can resolve next to 1
  const auto kept = parameter(1.0f, at::kBFloat16), rounded = parameter(1.0f, at::kBFloat16);
  Optimizer going_on(test::alone, {kept}, given), restarting(test::alone, {rounded}, given);
  for (int step = 0; step < 40; ++step) {
    going_on.step({gradient});
    restarting.restart();
    restarting.step({gradient});
  }
  EXPECT_LT(kept.tensor[0].item<double>(), 1) << "the master adds up small updates";
  EXPECT_EQ(rounded.tensor[0].item<double>(), 1) << "each update is lost with its master";
  EXPECT_EQ(restarting.steps(), 40) << "the schedule continues";

  // A step after a restart is a first step: AdamW's first step is the learning rate whatever the gradient's size.
  const auto weight = parameter(1.0f);
  Optimizer optimizer(test::alone, {weight}, settings());
  optimizer.step({at::full({2}, 100.0, at::kFloat)});
  optimizer.restart();
  optimizer.step({at::full({2}, 0.01, at::kFloat)});
  EXPECT_NEAR(weight.tensor[0].item<double>(), 1 - 2 * settings().learning_rate, 1e-5);
}

TEST(Optimizer, WarmsUpAndFallsAsTheScheduleSays) {
  auto given = settings();
  given.warmup_steps = 4;
  given.total_steps = 14;
  given.final_fraction = 0.2;
  for (const std::string schedule : {"constant", "linear", "cosine"}) {
    given.schedule = schedule;
    Optimizer optimizer(test::alone, {parameter(0.0f)}, given);
    for (int update = 0; update < 20; ++update) {
      const double progress = std::min(1.0, std::max(0, update - 4) / 10.0);
      const double height = schedule == "constant" ? 1.0
                            : schedule == "linear" ? 1.0 - 0.8 * progress
                                                   : 0.2 + 0.8 * 0.5 * (1 + std::cos(std::numbers::pi * progress));
      const double expected = update < 4 ? 0.1 * (update + 1) / 4 : 0.1 * height;
      EXPECT_NEAR(optimizer.learning_rate(), expected, 1e-12) << schedule << " update " << update;
      optimizer.step({at::full({2}, 1.0, at::kFloat)});
    }
  }
}

TEST(Optimizer, UpdatesTooSmallForBfloat16AddUp) {
  auto given = settings();
  given.learning_rate = 1e-4;  // of 1, of which bfloat16 knows the next lower neighbour at 1 - 2^-8
  const auto weight = parameter(1.0f, at::kBFloat16);
  Optimizer optimizer(test::alone, {weight}, given);
  optimizer.step({at::full({2}, 1.0, at::kFloat)});
  EXPECT_EQ(weight.tensor[0].item<float>(), 1.0f) << "one update is below the resolution";
  for (int update = 1; update < 200; ++update) optimizer.step({at::full({2}, 1.0, at::kFloat)});
  EXPECT_EQ(weight.tensor[0].item<float>(), 0.98046875f) << "the neighbour of 1 - 200 * 1e-4";
}

TEST(Optimizer, Bfloat16WeightsAreTheRoundedOnesOfFloat32) {
  auto given = settings();
  given.weight_decay = 0.1;
  given.gradient_clip = 1.0;
  const auto narrow = parameter(1.0f, at::kBFloat16), wide = parameter(1.0f);
  Optimizer with_masters(test::alone, {narrow}, given), plain(test::alone, {wide}, given);
  for (const float gradient : {0.125f, 3.0f, -0.5f, 0.0078125f, 2.0f}) {
    // Gradients may come in either type.
    const double norm = with_masters.step({at::full({2}, gradient, at::kBFloat16)});
    EXPECT_EQ(norm, plain.step({at::full({2}, gradient, at::kFloat)}));
    EXPECT_TRUE(at::equal(narrow.tensor, wide.tensor.to(at::kBFloat16)));
  }
}

TEST(Optimizer, OnlyNarrowParametersHaveMasters) {
  const auto names = [](at::ScalarType type) {
    std::vector<std::string> list;
    for (const auto& entry : Optimizer(test::alone, {parameter(1.0f, type)}, settings()).state()) {
      list.push_back(entry.name);
      if (entry.name != "updates") {
        EXPECT_EQ(entry.tensor.scalar_type(), at::toOpMathType(type)) << entry.name;
      }
    }
    return list;
  };
  EXPECT_THAT(names(at::kFloat), testing::ElementsAre("updates", "first_moment.weight", "second_moment.weight"));
  EXPECT_EQ(names(at::kDouble), names(at::kFloat));
  EXPECT_THAT(names(at::kBFloat16),
              testing::ElementsAre("updates", "first_moment.weight", "second_moment.weight", "master.weight"));
}

TEST(Optimizer, ContinuesFromItsStateBitForBit) {
  auto given = settings();
  given.learning_rate = 0.001;
  given.schedule = "cosine";
  given.warmup_steps = 2;
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto unbroken = parameter(1.0f, type);
    Optimizer first(test::alone, {unbroken}, given);
    const auto gradient = [](int step) { return std::vector<at::Tensor>{at::full({2}, 0.3 + step, at::kFloat)}; };
    for (int step = 0; step < 3; ++step) first.step(gradient(step));
    const auto resumed = NamedTensor{"weight", unbroken.tensor.detach().clone().set_requires_grad(true)};
    Optimizer second(test::alone, {resumed}, given);
    second.load_state(first.state());
    EXPECT_EQ(second.learning_rate(), first.learning_rate());
    for (int step = 3; step < 6; ++step) {
      first.step(gradient(step));
      second.step(gradient(step));
      // The state as well: a bfloat16 weight could hide a difference in its master.
      const auto expected = first.state(), found = second.state();
      for (std::size_t t = 0; t < expected.size(); ++t)
        EXPECT_TRUE(at::equal(found[t].tensor, expected[t].tensor)) << expected[t].name;
    }
    EXPECT_TRUE(at::equal(unbroken.tensor, resumed.tensor));
  }
}

/// Awkward sizes: tails of vectors, several tasks of threads, a single element.
std::vector<NamedTensor> some_parameters(at::ScalarType type) {
  std::vector<NamedTensor> made;
  for (const std::int64_t size : {1, 7, 33, 70001}) {
    const auto values = at::arange(size, at::kFloat).mul_(0.37).sin_();
    made.push_back({"weight" + std::to_string(size), values.to(type).set_requires_grad(true)});
  }
  return made;
}

std::vector<at::Tensor> some_gradients(int step) {
  std::vector<at::Tensor> made;
  for (const std::int64_t size : {1, 7, 33, 70001})
    made.push_back(at::arange(size, at::kFloat).mul_(0.11 * (step + 1)).cos_().mul_(std::pow(10.0, step % 5 - 2)));
  return made;
}

OptimizerSettings with_everything() {
  auto given = settings();
  given.learning_rate = 1e-3;
  given.weight_decay = 0.1;
  given.gradient_clip = 1.0;
  return given;
}

// What this optimizer was until it had a loop of its own; its arithmetic is repeated to the last bit.
TEST(Optimizer, MovesAsLibTorchsAdamWDoes) {
  const auto given = with_everything();
  const auto ours = some_parameters(at::kFloat), theirs = some_parameters(at::kFloat);
  Optimizer optimizer(test::alone, ours, given);
  std::vector<at::Tensor> list;
  for (const auto& one : theirs) list.push_back(one.tensor);
  torch::optim::AdamW libtorch(list, torch::optim::AdamWOptions(given.learning_rate)
                                         .betas({given.beta1, given.beta2})
                                         .eps(given.epsilon)
                                         .weight_decay(given.weight_decay));
  for (int step = 0; step < 20; ++step) {
    const double norm = optimizer.step(some_gradients(step));
    auto gradients = some_gradients(step);
    for (std::size_t p = 0; p < list.size(); ++p)
      list[p].mutable_grad() = norm > 1 ? gradients[p].mul_(1 / norm) : gradients[p];
    libtorch.step();
    for (std::size_t p = 0; p < list.size(); ++p)
      ASSERT_TRUE(at::equal(ours[p].tensor, list[p])) << theirs[p].name << ", step " << step;
  }
}

/// Weights after some steps, and everything else that the next step depends on.
std::vector<NamedTensor> trajectory(at::ScalarType type, const OptimizerSettings& given, int threads) {
  at::set_num_threads(threads);
  const auto parameters = some_parameters(type);
  Optimizer optimizer(test::alone, parameters, given);
  for (int step = 0; step < 6; ++step) {
    if (step == 3) optimizer.restart();
    optimizer.step(some_gradients(step));
  }
  at::set_num_threads(2);
  auto reached = optimizer.state();
  reached.insert(reached.end(), parameters.begin(), parameters.end());
  return reached;
}

TEST(Optimizer, OffloadAndTheNumberOfThreadsChangeNoBit) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const bool narrow_moments : {false, true}) {
      auto given = with_everything();
      given.narrow_moments = narrow_moments;
      const auto expected = trajectory(type, given, 1);
      for (const bool offload : {false, true}) {
        given.offload = offload;
        const auto found = trajectory(type, given, 2);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t t = 0; t < expected.size(); ++t)
          EXPECT_TRUE(at::equal(found[t].tensor, expected[t].tensor))
              << expected[t].name << (offload ? ", offload" : "");
      }
    }
  }
}

TEST(Optimizer, AStateGoesFromOneKindOfMomentsToTheOther) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    auto given = with_everything();
    const auto parameters = some_parameters(type);
    Optimizer wide(test::alone, parameters, given);
    wide.step(some_gradients(0));
    given.narrow_moments = given.offload = true;
    Optimizer narrow(test::alone, parameters, given);
    narrow.load_state(wide.state());
    EXPECT_EQ(narrow.steps(), 1);
    const auto before = wide.state(), after = narrow.state();
    for (std::size_t t = 1; t < before.size(); ++t) {
      const bool is_moment = before[t].name.find("moment") != std::string::npos;
      EXPECT_EQ(after[t].tensor.scalar_type(), is_moment ? at::kBFloat16 : at::kFloat) << before[t].name;
      EXPECT_TRUE(at::allclose(after[t].tensor.to(at::kFloat), before[t].tensor, 1.0 / 256, 0)) << before[t].name;
    }
    Optimizer back(test::alone, parameters, with_everything());
    back.load_state(narrow.state());
    back.step(some_gradients(1));
    EXPECT_EQ(back.steps(), 2);
  }
}

// 1 - beta2 of the distance to the squared gradient is less than bfloat16 can show next to the moment: rounded to
// nearest, the moment would never move.
TEST(Optimizer, NarrowSecondMomentsMoveByTheRightAmountOnTheAverage) {
  auto given = settings();
  given.beta2 = 0.999;
  given.narrow_moments = true;
  constexpr std::int64_t kSize = 20000;
  const auto weight = NamedTensor{"weight", at::zeros({kSize}).set_requires_grad(true)};
  Optimizer optimizer(test::alone, {weight}, given);
  const auto second = [&] { return optimizer.state()[2].tensor.to(at::kDouble); };
  for (int step = 0; step < 200; ++step) optimizer.step({at::full({kSize}, 1.0)});
  const double expected = 1 - std::pow(0.999, 200);
  EXPECT_NEAR(second().mean().item<double>(), expected, 0.003 * expected);
  EXPECT_GT(at::std(second(), /*unbiased=*/false).item<double>(), 0) << "each rounds for itself";
}

TEST(AdamW, TheLoopAndThePlainOperationsAreTheSame) {
  for (const auto moments : {at::kFloat, at::kBFloat16}) {
    for (const auto rounded : {at::kFloat, at::kBFloat16}) {
      const auto make = [&] {
        const auto weight = at::arange(1037, at::kFloat).mul_(0.7).sin_();
        return kernels::AdamWTensors{weight, at::zeros_like(weight, moments), at::zeros_like(weight, moments),
                                     at::arange(1037, at::kFloat).cos_(), at::zeros_like(weight, rounded)};
      };
      const auto fast = make(), plain = make();
      kernels::AdamWStep step{1e-2, 0.9, 0.999, 1e-8, 0.1};
      for (step.update = 1; step.update < 5; ++step.update) {
        step.rounding_key = 0x9876543210FEDCBA * static_cast<std::uint64_t>(step.update);
        EXPECT_TRUE(kernels::adamw(fast, step));
        EXPECT_TRUE(kernels::adamw_reference(plain, step));
      }
      EXPECT_TRUE(at::equal(fast.weight, plain.weight));
      EXPECT_TRUE(at::equal(fast.first, plain.first));
      EXPECT_TRUE(at::equal(fast.second, plain.second));
      EXPECT_TRUE(at::equal(fast.rounded, plain.rounded));
    }
  }
}

// A piece that went to the host knows which elements it holds.
TEST(AdamW, PartsAreTheWhole) {
  const auto make = [] {
    const auto weight = at::ones({1000}), gradient = at::arange(1000, at::kFloat).sin_();
    return kernels::AdamWTensors{
        weight, at::zeros({1000}, at::kBFloat16), at::zeros({1000}, at::kBFloat16), gradient, {}};
  };
  const auto whole = make(), parts = make();
  kernels::AdamWStep step{1e-2, 0.9, 0.999, 1e-8, 0.1};
  for (step.update = 1; step.update < 5; ++step.update) {
    kernels::adamw(whole, step);
    for (const std::int64_t first : {0, 400, 800}) kernels::adamw(parts.part(first, first < 800 ? 400 : 200), step);
  }
  EXPECT_TRUE(at::equal(whole.weight, parts.weight));
  EXPECT_TRUE(at::equal(whole.second, parts.second));
}

TEST(Optimizer, AStateOfAnotherModelIsRefused) {
  Optimizer optimizer(test::alone, {parameter(1.0f)}, settings());
  auto state = optimizer.state();
  state.back().tensor = at::zeros({3});
  EXPECT_THROW(optimizer.load_state(state), Error);
  state.pop_back();
  EXPECT_THROW(optimizer.load_state(state), Error);
  Optimizer with_masters(test::alone, {parameter(1.0f, at::kBFloat16)}, settings());
  EXPECT_THROW(with_masters.load_state(Optimizer(test::alone, {parameter(1.0f)}, settings()).state()), Error);
}

}  // namespace drift::optimizer_test
