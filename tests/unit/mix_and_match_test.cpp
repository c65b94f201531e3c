// Every masking strategy with every loss: what ships goes together, not only within a plugin.

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <core/base/log.h>

#include <ATen/ops/ones.h>

namespace drift::mix_and_match_test {

using namespace testing;

template <class Interface>
std::map<std::string, std::unique_ptr<Interface>> all() {
  std::map<std::string, std::unique_ptr<Interface>> made;
  for (const std::string& plugin : test::plugin_names()) {
    for (const ComponentEntry& entry : test::load_plugin(plugin).components()) {
      if (entry.kind == Interface::kKind && !entry.declaration)  // else it is whatever its file holds
        made[entry.name] = test::create<Interface>(plugin, entry.name);
    }
  }
  return made;
}

/// Three responses, one without a valid token, and random policies.
LossInput random_input(const MaskingStrategy& masking) {
  const auto trajectories = test::random_trajectories(3, 6, 4);
  LossInput input;
  input.plan = test::draw_plan(masking, trajectories);
  const auto& target = input.plan.target_FL;
  input.log_probs = {test::random_log_probs(target, 1), test::random_log_probs(target, 2),
                     test::random_log_probs(target, 3), -test::random_log_probs(target, 4),
                     -test::random_log_probs(target, 5)};
  input.advantage_B = test::vector_tensor({1.5, -0.5, -1});
  input.valid_BL = trajectories.valid_BL;
  test::fill_totals(input, /*group_size=*/3, /*optimizer_steps=*/2);
  return input;
}

/// Sum of the losses of the responses, each evaluated on its own.
double one_by_one(const LossEstimator& loss, const LossInput& input) {
  std::map<std::int64_t, std::vector<std::int64_t>> views;
  for (std::int64_t view = 0; view < input.plan.response_F.size(0); ++view)
    views[input.plan.response_F[view].item<std::int64_t>()].push_back(view);
  double sum = 0;
  for (const auto& [response, own] : views) sum += loss.evaluate(test::select_views(input, own)).value.item<double>();
  return sum;
}

// ESPO spreads the sizes of its masks over a micro-batch: espo_properties_test.
TEST(MixAndMatch, APlanDependsOnNothingButItsResponse) {
  const auto responses = test::random_trajectories(8, 12, 5);
  const std::vector<std::int64_t> some = {6, 0, 3};  // other company, other order, other rows
  auto strategies = all<MaskingStrategy>();
  strategies.erase("espo");
  for (const double temperature : {0.3, std::numeric_limits<double>::infinity()})
    strategies["rldf at " + std::to_string(temperature)] =
        test::create<MaskingStrategy>("rldf", "rldf", {{"k", std::int64_t{20}}, {"sample_temperature", temperature}});
  strategies["coupled_grpo with two pairs"] =
      test::create<MaskingStrategy>("coupled_grpo", "coupled_grpo", {{"pairs", std::int64_t{2}}});
  for (const auto& [name, strategy] : strategies) {
    SCOPED_TRACE(name);
    const MaskPlan whole = test::draw_plan(*strategy, responses, /*step=*/7);
    const MaskPlan part = test::draw_plan(*strategy, test::select_responses(responses, some), /*step=*/7, some);
    for (std::size_t b = 0; b < some.size(); ++b) {
      EXPECT_EQ(test::views_of(part, static_cast<std::int64_t>(b)), test::views_of(whole, some[b]));
      EXPECT_FALSE(test::views_of(part, static_cast<std::int64_t>(b)).empty());
    }
  }
}

TEST(MixAndMatch, EveryPairGivesAFiniteLossWithAGradient) {
  const auto strategies = all<MaskingStrategy>();
  const auto losses = all<LossEstimator>();
  for (const auto& [masking_name, masking] : strategies) {
    const LossInput input = random_input(*masking);
    for (const auto& [loss_name, loss] : losses) {
      SCOPED_TRACE(loss_name + " on the masks of " + masking_name);
      const double value = loss->evaluate(input).value.item<double>();
      EXPECT_TRUE(std::isfinite(value));
      double size = 0;
      for (const double g : test::gradient(*loss, input)) {
        EXPECT_TRUE(std::isfinite(g));
        size += std::abs(g);
      }
      // EBPO's ratio is one of sums: on some of these random numbers all are clipped.
      if (loss_name != "ebpo") EXPECT_GT(size, 0);
      if (loss->coupling() != Coupling::kBatch) EXPECT_NEAR(one_by_one(*loss, input), value, 1e-12);
    }
  }
}

// Coupled-GRPO's loss can be computed on any plan, but is what its paper means on complementary masks.
TEST(MixAndMatch, ALossForPairsSaysWhenAPlanHasNone) {
  std::vector<std::string> warnings;
  set_warning_listener([&](const std::string& line) { warnings.push_back(line); });
  const auto strategies = all<MaskingStrategy>();
  for (const char* coupled : {"coupled_grpo", "espo", "coupled_random_masking", "tracerl_coupled", "d1"}) {
    test::create<LossEstimator>("coupled_grpo", "coupled_grpo")->evaluate(random_input(*strategies.at(coupled)));
    EXPECT_THAT(warnings, IsEmpty()) << coupled;
  }
  for (int run = 0; run < 2; ++run) {
    test::create<LossEstimator>("coupled_grpo", "coupled_grpo")->evaluate(random_input(*strategies.at("rldf")));
  }
  set_warning_listener({});
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("loss `coupled_grpo`: "), HasSubstr("biased"))));
}

}  // namespace drift::mix_and_match_test
