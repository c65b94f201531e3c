// The golden values of every loss: tests/golden/losses/*.json, the format of `drift loss` (docs/loss_cases.md).

#include <core/update/batch_totals.h>
#include <core/update/loss_case.h>

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

namespace drift::loss_cases_test {
namespace {

using testing::DoubleNear;
using testing::IsEmpty;
using testing::Pointwise;

struct Case {
  std::string file;
  LossCase loss_case;
  std::unique_ptr<LossEstimator> loss;

  std::string name() const { return file + ", " + loss_case.variant; }
};

/// Every case and variant of every file. A plugin has the loss of the same name.
const std::vector<Case>& all_cases() {
  static const auto cases = [] {
    std::vector<Case> read;
    for (const auto& file : std::filesystem::directory_iterator(test::source_dir() / "tests/golden/losses")) {
      const std::string name = loss_of_case(file.path());
      const ComponentEntry* entry = test::load_plugin(name).find(ComponentKind::kLossEstimator, name);
      if (entry == nullptr) throw std::runtime_error("no loss " + name);
      for (LossCase& one : read_loss_cases(file.path(), *entry)) {
        auto loss = test::create<LossEstimator>(name, name, one.parameters);
        read.push_back({file.path().filename().string(), std::move(one), std::move(loss)});
      }
    }
    return read;
  }();
  return cases;
}

TEST(LossCases, EveryLossThatShipsHasGoldenValues) {
  std::set<std::string> losses;
  for (const Case& one : all_cases()) losses.insert(one.loss_case.loss);
  for (const auto& file : std::filesystem::directory_iterator(test::build_dir() / "lib/drift/plugins")) {
    if (file.path().extension() != ".so") continue;
    const std::string plugin = file.path().stem().string().substr(3);  // libNAME.so
    for (const ComponentEntry& entry : test::load_plugin(plugin).components()) {
      if (entry.kind != ComponentKind::kLossEstimator || entry.declaration)
        continue;  // or a file says what it computes
      EXPECT_TRUE(losses.contains(entry.name)) << entry.name;
    }
  }
}

TEST(LossCases, ValueMetricsAndGradientAreTheGoldenOnes) {
  for (const Case& one : all_cases()) {
    SCOPED_TRACE(one.name());
    const LossExpectation& expected = one.loss_case.expected;
    EXPECT_TRUE(expected.loss || !expected.metrics.empty() || !expected.gradient_FL.empty()) << "expects nothing";
    EXPECT_THAT(differences(evaluate_case(*one.loss, one.loss_case.input), expected), IsEmpty());
  }
}

TEST(LossCases, GradientsAgreeWithFiniteDifferences) {
  for (const Case& one : all_cases()) {
    // On the very bound of a clip the left and the right derivative differ.
    if (one.loss_case.variant.find("on the upper bound") != std::string::npos) continue;
    SCOPED_TRACE(one.name());
    const LossInput& input = one.loss_case.input;
    EXPECT_THAT(test::numbers(evaluate_case(*one.loss, input).gradient_FL),
                Pointwise(DoubleNear(1e-7), test::finite_difference_gradient(*one.loss, input)));
  }
}

/// The views that a loss of this coupling may be given apart from the others.
std::vector<std::vector<std::int64_t>> units(const LossInput& input, Coupling coupling) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_key;
  for (std::int64_t v = 0; v < input.plan.response_F.size(0); ++v) {
    const std::int64_t response = input.plan.response_F[v].item<std::int64_t>();
    by_key[coupling == Coupling::kView ? v : coupling == Coupling::kResponse ? response : 0].push_back(v);
  }
  std::vector<std::vector<std::int64_t>> units;
  for (auto& [key, views] : by_key) units.push_back(std::move(views));
  return units;
}

TEST(LossCases, UncoupledPartsAddUpToTheFullLoss) {
  for (const Case& one : all_cases()) {
    SCOPED_TRACE(one.name());
    const LossInput& input = one.loss_case.input;
    const auto whole = evaluate_case(*one.loss, input);
    double sum = 0;
    std::map<std::string, test::MetricTotal> metrics;
    for (const auto& views : units(input, one.loss->coupling())) {
      const LossInput part = test::select_views(input, views);
      const auto result = evaluate_case(*one.loss, part);
      sum += result.loss;
      const Loss loss = one.loss->evaluate(part);
      for (const LossMetric& metric : loss.metrics) metrics[metric.name].add(loss, metric.name);
      for (std::size_t v = 0; v < views.size(); ++v) {
        EXPECT_THAT(test::numbers(result.gradient_FL, static_cast<std::int64_t>(v)),
                    Pointwise(DoubleNear(1e-12), test::numbers(whole.gradient_FL, views[v])));
      }
    }
    EXPECT_NEAR(sum, whole.loss, 1e-12);
    for (const auto& [name, total] : metrics) {
      if (total.count > 0) EXPECT_NEAR(total.value(), whole.metrics.at(name), 1e-9) << name;
    }
  }
}

}  // namespace
}  // namespace drift::loss_cases_test
