// Every masking strategy with every loss whose needs it meets: what ships goes together, not only within a plugin.

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <core/components/compatibility.h>

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <set>

namespace drift {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

template <class Interface>
std::map<std::string, std::unique_ptr<Interface>> all() {
  std::map<std::string, std::unique_ptr<Interface>> made;
  for (const auto& file : std::filesystem::directory_iterator(test::build_dir() / "lib/drift/plugins")) {
    const std::string plugin = file.path().stem().string().substr(3);  // libNAME.so
    for (const ComponentEntry& entry : test::load_plugin(plugin).components()) {
      if (entry.kind == Interface::kKind) made[entry.name] = test::create<Interface>(plugin, entry.name);
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
  for (std::int64_t view = 0; view < input.plan.sample_F.size(0); ++view)
    views[input.plan.sample_F[view].item<std::int64_t>()].push_back(view);
  double sum = 0;
  for (const auto& [response, own] : views) sum += loss.evaluate(test::select_views(input, own)).value.item<double>();
  return sum;
}

TEST(MixAndMatch, EveryPairThatFitsGivesAFiniteLossWithAGradient) {
  const auto strategies = all<MaskingStrategy>();
  const auto losses = all<LossEstimator>();
  for (const auto& [masking_name, masking] : strategies) {
    const LossInput input = random_input(*masking);
    for (const auto& [loss_name, loss] : losses) {
      if (!mismatch(*masking, *loss).empty()) continue;
      SCOPED_TRACE(loss_name + " on the masks of " + masking_name);
      const double value = loss->evaluate(input).value.item<double>();
      EXPECT_TRUE(std::isfinite(value));
      double size = 0;
      for (const double g : test::gradient(*loss, input)) {
        EXPECT_TRUE(std::isfinite(g));
        size += std::abs(g);
      }
      EXPECT_GT(size, 0);
      if (loss->coupling() != Coupling::kBatch) EXPECT_NEAR(one_by_one(*loss, input), value, 1e-12);
    }
  }
}

TEST(MixAndMatch, ALossThatNeedsPairsRefusesMasksWithoutThem) {
  const auto strategies = all<MaskingStrategy>();
  const auto losses = all<LossEstimator>();
  const LossEstimator& pairs = *losses.at("coupled_grpo");
  EXPECT_THAT(mismatch(*strategies.at("coupled_grpo"), pairs), IsEmpty());
  EXPECT_THAT(mismatch(*strategies.at("espo"), pairs), IsEmpty());
  EXPECT_THAT(mismatch(*strategies.at("coupled_random_masking"), pairs), IsEmpty());
  const auto uncoupled = test::create<MaskingStrategy>("espo", "espo", {{"coupled", false}});
  EXPECT_THAT(mismatch(*uncoupled, pairs), HasSubstr("complementary"));
  EXPECT_THAT(mismatch(*strategies.at("d1"), pairs), HasSubstr("complementary"));
  EXPECT_THAT(mismatch(*strategies.at("rldf"), *losses.at("espo")), IsEmpty());
}

TEST(MixAndMatch, TheTableHasARowForEveryStrategyOfAPlugin) {
  const std::string table = compatibility_table(test::load_plugin("rldf"));
  for (const char* row : {"| all_masking", "| coupled_random_masking", "| random_masking", "| rldf"})
    EXPECT_THAT(table, HasSubstr(row));
  EXPECT_THAT(compatibility_table(test::load_plugin("d1")), HasSubstr("| yes |")) << "a name shorter than `yes`";
}

}  // namespace
}  // namespace drift
