// Losses and masking strategies in Python: the tensors are the core's own, the numbers those of C++.

#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <tests/support/plugins.h>
#include <tests/support/python.h>
#include <tests/support/rollouts.h>

#include <core/boundary/lent.h>
#include <core/boundary/made.h>
#include <core/lab/loss_slope.h>
#include <core/plugin/plugin_loader.h>

namespace drift::python_tensors_test {

using namespace testing;

class PythonTensors : public testing::Test {
 protected:
  void SetUp() override {
    if (test::python_with_torch().empty()) GTEST_SKIP() << test::kNoTorch;
    test::choose_python();
  }

  template <class T>
  static Made<T> make(const std::string& file, const std::map<std::string, Parameter::Value>& values = {}) {
    const ComponentEntry entry =
        with_declaration(*test::load_plugin("python").find(T::kKind, "python"), {{"file", file}});
    return make_from_plugin<T>(test::host(), entry, Parameters(entry.params, values));
  }

  static std::string example(const std::string& path) { return (test::source_dir() / "sdk/examples" / path).string(); }

  Made<LossEstimator> loss_of(const std::string& body, const std::string& facts = "coupling = 'view'") const {
    const auto file = folder_.path() / ("loss" + std::to_string(++files_) + ".py");
    test::write_file(file, "import drift\nclass L(drift.Loss):\n    'A loss.'\n    " + facts +
                               "\n    def evaluate(self, input):\n        " + body + "\n");
    return make<LossEstimator>(file.string());
  }

  /// Views of three responses, old and current log-probabilities, advantages of either sign.
  static LossInput loss_input() {
    const auto masking = make<MaskingStrategy>(example("share_masks_python/share_masks.py"));
    return test::random_loss_input(test::draw_plan(*masking, test::equal_trajectories(3, 12)), 3);
  }

  test::TemporaryFolder folder_;
  mutable int files_ = 0;
};

TEST_F(PythonTensors, TenLinesGiveTheLossAndTheGradientOfTheCppOne) {
  Registry registry;
  PluginLoader(registry).load_file(test::build_dir() / "tests/plugins/libtest_soft_clip.so");
  const ComponentEntry& entry = *registry.find(ComponentKind::kLossEstimator, "soft_clip");
  const auto cpp = make_from_plugin<LossEstimator>(test::host(), entry, Parameters(entry.params, {{"width", 2.0}}));
  const auto python = make<LossEstimator>(example("soft_clip_python/soft_clip.py:SoftClip"), {{"width", 2.0}});
  EXPECT_EQ(python->coupling(), cpp->coupling());
  const LossInput input = loss_input();
  const auto got = differentiate(*python, input), want = differentiate(*cpp, input);
  EXPECT_TRUE(at::equal(got.loss.value, want.loss.value));
  EXPECT_TRUE(at::equal(got.gradients.front(), want.gradients.front()));
  EXPECT_GT(want.gradients.front().abs().sum().item<double>(), 0);
}

TEST_F(PythonTensors, AreTheCoresOwnTensors) {
  const LossInput input = loss_input();
  const auto loss = loss_of("raise drift.Error(f'{input.advantage_B.data_ptr()} {input.plan.masked_FL.data_ptr()}')");
  EXPECT_THAT(test::error_of([&] { loss->evaluate(input); }),
              HasSubstr(std::to_string(reinterpret_cast<std::uintptr_t>(input.advantage_B.data_ptr())) + " " +
                        std::to_string(reinterpret_cast<std::uintptr_t>(input.plan.masked_FL.data_ptr()))));
}

TEST_F(PythonTensors, LoadNoSecondLibTorch) {
  loss_of("pass");
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with("/libtorch_cpu.so") || line.ends_with("/libc10.so")) files.insert(line.substr(line.find('/')));
  }
  EXPECT_EQ(files.size(), 2u);
}

TEST_F(PythonTensors, AnAutogradFunctionInPythonIsDifferentiated) {
  const auto file = folder_.path() / "cube.py";
  test::write_file(file, R"(
import drift, torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(context, gradient):
        return gradient * 3 * context.saved_tensors[0] ** 2
class L(drift.Loss):
    """Cubes."""
    coupling = "view"
    def evaluate(self, input):
        return input.token_mean(Cube.apply(input.current_FL))
)");
  const LossInput input = loss_input();
  const auto gradient = differentiate(*make<LossEstimator>(file.string()), input).gradients.front();
  const auto expected = 3 * input.log_probs.current_FL.square() * input.plan.target_FL / input.totals.targets;
  EXPECT_TRUE(gradient.sub(expected).abs().max().item<double>() < 1e-6);
}

TEST_F(PythonTensors, ALossAsksForWhatItNeedsAndReportsMetrics) {
  const auto loss = loss_of(
      "input.add_mean('kl', input.current_FL - input.reference_FL, input.plan.target_FL); return "
      "input.token_mean(input.entropy_FL)",
      "coupling = 'response'; needs = ('reference', 'entropy')");
  LossNeeds needs;
  loss->needs(needs);
  EXPECT_FALSE(needs.old);
  EXPECT_TRUE(needs.reference && needs.entropy);
  EXPECT_EQ(loss->coupling(), Coupling::kResponse);
  LossInput input = loss_input();
  input.log_probs.entropy_FL = input.log_probs.current_FL;
  const Loss made = loss->evaluate(input);
  ASSERT_EQ(made.metrics.size(), 1u);
  EXPECT_EQ(made.metrics[0].name, "kl");
  EXPECT_EQ(made.metrics[0].count.item<std::int64_t>(), input.totals.targets);
}

TEST_F(PythonTensors, WhatALossNeedsMayFollowFromAParameter) {
  const auto file = folder_.path() / "needs.py";
  test::write_file(file, R"(
import drift
class L(drift.Loss):
    """With a KL, if it has a weight."""
    coupling = "view"
    beta = drift.parameter(0.0, "weight of the KL", minimum=0)
    @property
    def needs(self):
        return ("old", "reference") if self.beta > 0 else ("old",)
)");
  for (const double beta : {0.0, 0.1}) {
    LossNeeds needs;
    make<LossEstimator>(file.string(), {{"beta", beta}})->needs(needs);
    EXPECT_EQ(needs.reference, beta > 0);
  }
}

TEST_F(PythonTensors, WhatALossReturnsIsChecked) {
  compare_lent_tensors(true);
  const auto error_of = [&](const std::string& body) {
    LossInput input = loss_input();
    input.log_probs.reference_FL = at::Tensor();  // of which it says nothing
    return test::error_of([&] { differentiate(*loss_of(body), input); });
  };
  EXPECT_THAT(error_of("return 3.0"), HasSubstr("L.evaluate() is of type float, not a tensor"));
  EXPECT_THAT(error_of("pass"), HasSubstr("L.evaluate() is None, not a tensor"));
  EXPECT_THAT(error_of("return input.token_mean(input.current_FL.detach())"),
              HasSubstr("does not depend on log_probs.current_FL"));
  EXPECT_THAT(error_of("return input.current_FL"), HasSubstr("the loss must be one floating-point number (0-d)"));
  EXPECT_THAT(error_of("input.advantage_B.mul_(2); return input.token_mean(input.current_FL)"),
              HasSubstr("it changed `advantage_B`"));
  EXPECT_THAT(error_of("return input.token_mean(input.current_FL - input.reference_FL)"),
              AllOf(HasSubstr("it reads `reference_FL`, which is undefined: "), HasSubstr("unsupported operand"),
                    HasSubstr(" | let `needs` ask for `old`, `reference` or `entropy`")));
  EXPECT_THAT(error_of("return input.token_mean(input.current_FL * input.plan.attended_FL.float())"),
              HasSubstr("it reads `attended_FL`, which is undefined: "));
  EXPECT_THAT(error_of("return input.token_mean(input.current_FL * input.advantage_B)"),
              AllOf(HasSubstr("The size of tensor a (12)"), HasSubstr("`advantage_B` is [3]"),
                    HasSubstr("`current_FL` is [12, 12]")));
  EXPECT_THAT(
      error_of("return input.current_FL @ input.current_FL[:5]"),
      AllOf(HasSubstr(".py:6: RuntimeError: mat1 and mat2 shapes cannot be multiplied"), HasSubstr("Traceback")));
}

TEST_F(PythonTensors, CouplingAndNeedsAreDeclared) {
  const auto error_of = [&](const std::string& facts) { return test::error_of([&] { loss_of("pass", facts); }); };
  EXPECT_THAT(error_of("pass"), HasSubstr(R"(L.coupling is not declared | one of "view", "response", "batch")"));
  EXPECT_THAT(error_of("coupling = 'token'"), HasSubstr("L.coupling is 'token'"));
  EXPECT_THAT(error_of("coupling = 'view'; needs = ('ref',)"), HasSubstr("('ref',) are not the needs of a loss"));
}

// ---- masking strategies ----

TEST_F(PythonTensors, MasksAreDrawnByThePointAndNotByTheBatch) {
  const auto masking = make<MaskingStrategy>(example("share_masks_python/share_masks.py:ShareMasks"),
                                             {{"share_low", 0.25}, {"share_high", 0.5}});
  EXPECT_EQ(masking->refresh(), PlanRefresh::kEachInnerIteration);
  const Trajectories three = test::equal_trajectories(3, 40), one = test::equal_trajectories(1, 40);
  const MaskPlan plan = test::draw_plan(*masking, three);
  EXPECT_EQ(plan.terms, 4);
  EXPECT_THAT(test::numbers(plan.masked_FL.sum(1).to(at::kDouble)), Each(AllOf(Ge(10), Le(20))));
  EXPECT_EQ(test::views_of(plan, 2), test::views_of(test::draw_plan(*masking, one, 0, {2}), 0));
  EXPECT_NE(test::views_of(plan, 2), test::views_of(test::draw_inner_plan(*masking, three, 0, 1), 2));
  EXPECT_NE(test::views_of(plan, 2), test::views_of(test::draw_plan(*masking, three, 1), 2));
}

TEST_F(PythonTensors, AnyEndTokenOfTheModelEndsTheText) {
  const auto masking = make<MaskingStrategy>(example("share_masks_python/share_masks.py:ShareMasks"));
  const Trajectories responses = test::token_trajectories({{1, 7, 2, 9, 2, 2}, {1, 2, 2, 2, 9, 2}});
  MaskingInput input = test::masking_input(responses);
  input.end_id = 9;
  const auto scored = [&] { return test::numbers(test::draw_plan(*masking, input).target_FL.any(0).to(at::kDouble)); };
  EXPECT_EQ(scored()[3], 1) << "the text of both ends with 9";
  input.end_ids_E = test::vector_tensor({9, 7, 2}).to(at::kLong);
  EXPECT_EQ(scored(), (std::vector<double>{1, 1, 0, 0, 0, 0}));
}

TEST_F(PythonTensors, RandomNumbersAreThoseOfCpp) {
  const auto file = folder_.path() / "random.py";
  test::write_file(file, R"(
import drift, torch
class M(drift.Masking):
    """Weighs by random numbers."""
    def plan(self, input):
        mask_FL = torch.ones_like(input.trajectories.valid_BL)
        count = len(mask_FL)
        random = input.random.child("weights")
        weight_F = random.uniform(step=input.step, response=input.response_number_B, position=2**32 - 1)
        weight_F += random.below(1000, step=input.step, response=input.response_number_B, draw=2)
        view_F = torch.arange(count)
        return drift.Plan(view_F, view_F * 0, mask_FL, mask_FL, 1, weight_F=weight_F.float())
)");
  const auto masking = make<MaskingStrategy>(file.string());
  const Trajectories responses = test::equal_trajectories(3, 4);
  const MaskPlan plan = test::draw_plan(*masking, responses, 5, {7, 1, 4000000000});
  const RandomStream random = test::masking_input(responses).random.child("weights");
  std::int64_t view = 0;
  for (const std::int64_t response : {std::int64_t{7}, std::int64_t{1}, std::int64_t{4000000000}}) {
    const double expected =
        random.uniform({5, response, 4294967295, 0}) + static_cast<double>(random.below(1000, {5, response, 0, 2}));
    EXPECT_EQ(plan.weight_F[view++].item<float>(), static_cast<float>(expected));
  }
}

TEST_F(PythonTensors, APlanIsChecked) {
  const auto file = folder_.path() / "plans.py";
  test::write_file(
      file, "import drift\nclass M(drift.Masking):\n    'A plan.'\n    def plan(self, input):\n        return 3\n");
  const auto masking = make<MaskingStrategy>(file.string());
  const Trajectories responses = test::equal_trajectories(1, 4);
  EXPECT_THAT(test::error_of([&] { test::draw_plan(*masking, responses); }),
              HasSubstr("M.plan() is of type int, not a drift.Plan"));
}

}  // namespace drift::python_tensors_test
